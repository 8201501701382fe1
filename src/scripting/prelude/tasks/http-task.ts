import type { Dynamic } from "../dynamic.ts";
import { ArgumentNullException, isBlank } from "../errors.ts";
import { TaskWithHeaders } from "./task-with-headers.ts";
import { read, readTexts, write, writeJson } from "./workflow-task.ts";

/** Task type 6: an HTTP call. */
export class HttpTask extends TaskWithHeaders {
  get Url(): string {
    return read(this, "url", "");
  }
  set Url(url: string) {
    write(this, "url", url);
  }

  get Method(): string {
    return read(this, "method", "GET");
  }
  set Method(method: string) {
    write(this, "method", method);
  }

  get Body(): Dynamic {
    return read<Dynamic>(this, "body", null);
  }
  get ContentType(): string | null {
    return read<string | null>(this, "contentType", null);
  }
  get RawBody(): string | null {
    return read<string | null>(this, "rawBody", null);
  }
  get TimeoutSeconds(): number {
    return read(this, "timeoutSeconds", 30);
  }
  get ValidateSSL(): boolean {
    return read(this, "validateSsl", true);
  }
  get AcceptedStatusCodes(): readonly string[] | null {
    return readTexts(this, "acceptedStatusCodes");
  }

  SetUrl(url: string): void {
    if (isBlank(url)) throw new ArgumentNullException("url");
    write(this, "url", url);
  }

  SetMethod(method: string): void {
    if (isBlank(method)) throw new ArgumentNullException("method");
    write(this, "method", method);
  }

  /** Names go out exactly as written. */
  SetBody(body: unknown): void {
    writeJson(this, "body", body);
  }

  /** Sent byte for byte; wins over `Body`. Null goes back to `Body`. */
  SetRawBody(raw: string | null | undefined): void {
    write(this, "rawBody", raw);
  }

  /** Wins over a Content-Type header; blank goes back to it. */
  SetContentType(contentType: string | null | undefined): void {
    write(this, "contentType", isBlank(contentType) ? null : contentType);
  }

  SetTimeout(seconds: number): void {
    write(this, "timeoutSeconds", seconds);
  }

  SetValidateSSL(validateSSL: boolean): void {
    write(this, "validateSsl", validateSSL);
  }
}

/** Task type 22: the same call from inside the orchestrator. */
export class ExternalHttpTask extends HttpTask {
  declare readonly Type: "22";
}

/** The older name of type 22. */
export const LocalHttpTask: typeof ExternalHttpTask = ExternalHttpTask;
export type LocalHttpTask = ExternalHttpTask;
