/** A POST to an address of the operator's; anything but a 2xx is a failure told in words. */
import { OutgoingFailed, type HttpClient } from "../outgoing/http-client.ts";
import { NotificationFailed, type Bounds } from "./sender.ts";

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** In messages: `The webhook of the channel 'sms'`. */
  readonly receiver: string;
}

/** Nobody reads the answer; what is longer comes from the wrong place. */
const maxAnswerBytes = 1024 * 1024;

export async function postJson(
  http: Pick<HttpClient, "send">,
  { url, headers, body, receiver }: Post,
  { timeoutMs, signal }: Bounds,
): Promise<void> {
  const { status, statusText } = await http
    .send({
      url,
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
      timeoutMs,
      signal,
      redirects: 0,
      maxBytes: maxAnswerBytes,
      isConfigured: true,
    })
    .catch((error: unknown) => {
      if (!(error instanceof OutgoingFailed)) throw error;
      throw new NotificationFailed(`${receiver} gave no answer: ${error.message}`, {
        cause: error,
      });
    });
  if (status >= 200 && status < 300) return;
  const answer = statusText === "" ? String(status) : `${status} ${statusText}`;
  throw new NotificationFailed(`${receiver} answered ${answer} where 2xx was expected.`);
}
