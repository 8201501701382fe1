/** Task types 6 and 22: one HTTP call. */
import { isJsonObject, stringifyJson } from "../engine/exact-json.ts";
import { asWritten } from "./as-written.ts";
import { configuredHeaders, headerIn, withHeader, type CallHeaders } from "./call-headers.ts";
import { formText } from "./form-text.ts";
import { jsonOrText } from "./json-or-text.ts";
import { callRemote, invalidRequest } from "./remote-call.ts";
import type { MappedTaskType, TaskAnswer, TaskCall, TaskPorts } from "./task-type.ts";
import { charsetOf, encodeText } from "./text-encoding.ts";

const name = "Http";

/** The public system ran type 22 in another of its processes; here the two are the same. */
export const httpTask: MappedTaskType = {
  code: "6",
  name,
  stamp: "http",
  isEffectful: () => true,
  invoke: callOverHttp,
};

export const externalHttpTask: MappedTaskType = { ...httpTask, code: "22" };

async function callOverHttp(ports: TaskPorts, call: TaskCall): Promise<TaskAnswer> {
  const method = methodOf(call);
  const { headers, body } = contentOf(call, method);
  return callRemote(ports, call, {
    name,
    method,
    url: urlOf(call),
    headers,
    body,
    dataOf: jsonOrText,
  });
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const bodiless = new Set(["GET", "HEAD"]);

function methodOf(call: TaskCall): string {
  const given = textIn(call.config["method"]) ?? "GET";
  const method = given.toUpperCase();
  if (methods.includes(method)) return method;
  throw invalidRequest(call, name, `its method '${given}' is none of ${methods.join(", ")}.`);
}

function urlOf(call: TaskCall): string {
  const url = textIn(call.config["url"]);
  if (url !== undefined) return url;
  throw invalidRequest(
    call,
    name,
    "it has no address. Give it a 'url' in its config, or set one with SetUrl in its input handler.",
  );
}

interface Content {
  headers: CallHeaders;
  body?: Uint8Array;
}

/** `contentType` beats a Content-Type header; both are only said of a body that is sent. */
function contentOf(call: TaskCall, method: string): Content {
  const { config } = call;
  const headers = configuredHeaders(config["headers"]);
  const contentType =
    textIn(config["contentType"]) ??
    (headerIn(headers, "content-type") || "application/json; charset=utf-8");
  const text = bodiless.has(method) ? undefined : bodyText(call, contentType);
  if (text === undefined) return { headers: withHeader(headers, "Content-Type", undefined) };
  const body = encodeText(text, contentType);
  if (body === undefined) {
    throw invalidRequest(
      call,
      name,
      `its body cannot be written in the charset '${charsetOf(contentType)}' of its content type. Use utf-8.`,
    );
  }
  return { headers: withHeader(headers, "Content-Type", contentType), body };
}

/** A raw body goes out as it is; a text goes out as it is except where JSON is announced. */
function bodyText(call: TaskCall, contentType: string): string | undefined {
  const { rawBody } = call.config;
  if (typeof rawBody === "string") return rawBody;
  const body = asWritten(call, "body");
  if (body === undefined || body === null) return undefined;
  const type = contentType.split(";")[0]!.trim().toLowerCase();
  if (type === "application/x-www-form-urlencoded" && isJsonObject(body)) return formText(body);
  return typeof body === "string" && !isJson(type) ? body : stringifyJson(body);
}

const isJson = (type: string): boolean => type === "application/json" || type.endsWith("+json");

const textIn = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
