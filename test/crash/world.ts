/**
 * Everything outside that tasks of the product's own types reach, on the loopback: an HTTP server
 * that is a SOAP service, a webhook and a Dapr sidecar too, and a mail server. Each call is noted
 * under the key by which the other side would recognise a repetition.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { startMailServerForFile } from "../support/mail-server.ts";
import { envelope } from "../support/soap-service.ts";
import type { AtEnd } from "./at-end.ts";

export interface Call {
  /** `Idempotency-Key`, or the `Message-ID` of a mail. */
  key: string;
  /** The path, or `mail`. */
  to: string;
  /** Of a mail. */
  subject?: string | undefined;
}

export interface World {
  url: string;
  /** Settings of a node that is to reach it, in their environment form. */
  env: Record<string, string>;
  calls(): Call[];
  /** From now on calls of these paths arrive but are never answered. */
  hold(...paths: string[]): void;
  /** From now on calls are answered at once again. */
  answerNew(): void;
  /** From now on calls of these paths fail with 503. */
  fail(...paths: string[]): void;
}

/** For all tests of a file. */
export async function startWorld(atEnd: AtEnd): Promise<World> {
  const posted: Call[] = [];
  let held: readonly string[] = [];
  let failing: readonly string[] = [];
  const server = createServer((request, response) => {
    const to = request.url ?? "";
    request.resume().on("end", () => {
      posted.push({ key: String(request.headers["idempotency-key"]), to });
      if (held.includes(to)) return;
      if (failing.includes(to)) response.writeHead(503).end();
      else answer(to, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const mails = await startMailServerForFile();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    env: {
      Egress__Allow: "loopback",
      DAPR_HTTP_ENDPOINT: url,
      Notification__Channels: `email=smtp,sms=webhook:${url}/webhook`,
      Notification__Smtp__Url: `smtp://127.0.0.1:${mails.port}`,
      Notification__Smtp__From: "orders@shop.example",
      Notification__Smtp__Tls: "off",
    },
    calls: () => [
      ...posted,
      ...mails.received.map(({ mail }) => ({
        key: mail.messageId ?? "",
        to: "mail",
        subject: mail.subject,
      })),
    ],
    hold: (...paths) => {
      held = paths;
    },
    answerNew: () => {
      held = [];
    },
    fail: (...paths) => {
      failing = paths;
    },
  };
}

function answer(to: string, response: ServerResponse): void {
  const isSoap = to === "/soap";
  response.writeHead(200, {
    "content-type": isSoap ? "text/xml; charset=utf-8" : "application/json",
  });
  response.end(isSoap ? envelope("<done/>") : "{}");
}
