/**
 * Task type 16: a SOAP call, of version 1.1 or 1.2. The envelope goes out as it is written, in UTF-8;
 * the answer comes back as text, which scripts read with `ParseXml`.
 */
import { configuredHeaders, headerIn, withHeader, type CallHeaders } from "./call-headers.ts";
import { oneLine } from "./one-line.ts";
import { callRemote, invalidRequest } from "./remote-call.ts";
import { soapText } from "./soap-answer.ts";
import { faultReason } from "./soap-fault.ts";
import { charsetOf } from "./text-encoding.ts";
import type { TaskAnswer, TaskCall, TaskPorts, MappedTaskType } from "./task-type.ts";

const name = "Soap";

export const soapTask: MappedTaskType = {
  code: "16",
  name,
  stamp: "soap",
  isEffectful: () => true,
  invoke: invokeSoap,
};

async function invokeSoap(ports: TaskPorts, call: TaskCall): Promise<TaskAnswer> {
  const { body } = call.config;
  const url = textOf(call.config["url"]);
  if (url === "") {
    throw invalidRequest(
      call,
      name,
      "it has no url. Set config.url, or call SetUrl in its input handler.",
    );
  }
  const answer = await callRemote(ports, call, {
    name,
    method: "POST",
    url,
    headers: soapHeaders(call),
    body: typeof body === "string" ? body : "",
    textOf: (response) => soapText(response.headers["content-type"], response.body),
    dataOf: (text) => text,
  });
  return answer.isSuccess ? answer : withFault(answer);
}

/** Whatever the task's own headers say stands; only what they lack is added. */
function soapHeaders(call: TaskCall): CallHeaders {
  const own = configuredHeaders(call.config["headers"]);
  const action = actionOf(call);
  const isNewer = versionOf(call) === "1.2";
  const contentType =
    headerIn(own, "Content-Type") ??
    (isNewer
      ? `application/soap+xml; charset=utf-8${action === "" ? "" : `; action="${action}"`}`
      : "text/xml; charset=utf-8");
  const charset = charsetOf(contentType) ?? "utf-8";
  if (!/^utf-?8$/i.test(charset)) {
    throw invalidRequest(
      call,
      name,
      `its Content-Type names the charset '${oneLine(charset)}', but an envelope is sent in UTF-8. Write charset=utf-8.`,
    );
  }
  const headers = withHeader(own, "Content-Type", contentType);
  return isNewer || headerIn(own, "SOAPAction") !== undefined
    ? headers
    : withHeader(headers, "SOAPAction", `"${action}"`);
}

function versionOf(call: TaskCall): "1.1" | "1.2" {
  const version = textOf(call.config["soapVersion"]) || "1.1";
  if (version === "1.1" || version === "1.2") return version;
  throw invalidRequest(
    call,
    name,
    `its soapVersion is '${oneLine(version)}'; it can be 1.1 or 1.2.`,
  );
}

/** Without the quotes, which some authors write themselves. */
function actionOf(call: TaskCall): string {
  const action = textOf(call.config["soapAction"]).replace(/^"(.*)"$/s, "$1");
  if (/^[ !#-[\]-~]*$/.test(action)) return action;
  throw invalidRequest(
    call,
    name,
    `its soapAction is '${oneLine(action)}'; an action is written in ASCII, without quotes and backslashes. Percent-encode the others.`,
  );
}

function withFault(answer: TaskAnswer): TaskAnswer {
  const reason = answer.body === undefined ? undefined : faultReason(answer.body);
  return reason === undefined
    ? answer
    : { ...answer, errorMessage: `${answer.errorMessage}. SOAP fault: ${reason}` };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");
