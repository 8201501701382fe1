import { describe } from "../describe.ts";
import { ArgumentException, ArgumentNullException, isBlank } from "../errors.ts";
import { XmlDocument } from "../xml/document.ts";
import { TaskWithHeaders } from "./task-with-headers.ts";
import { read, readTexts, write } from "./workflow-task.ts";

/** Task type 16: a SOAP call. The body is XML text. */
export class SoapTask extends TaskWithHeaders {
  get Url(): string {
    return read(this, "url", "");
  }
  set Url(url: string) {
    write(this, "url", url);
  }

  get SoapAction(): string {
    return read(this, "soapAction", "");
  }
  set SoapAction(soapAction: string) {
    write(this, "soapAction", soapAction);
  }

  get SoapVersion(): string {
    return read(this, "soapVersion", "1.1");
  }
  get Body(): string | null {
    const body = read<unknown>(this, "body", null);
    return typeof body === "string" ? body : null;
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

  /** Raw XML, or a document, of which the outer XML is sent. */
  SetBody(body: string | XmlDocument | null | undefined): void {
    if (body === null || body === undefined || typeof body === "string") {
      write(this, "body", body);
    } else if (body instanceof XmlDocument) {
      write(this, "body", body.OuterXml);
    } else {
      throw new ArgumentException(
        `The body must be XML text or an XmlDocument, not ${describe(body)}.`,
        "body",
      );
    }
  }

  SetSoapAction(soapAction: string): void {
    write(this, "soapAction", soapAction ?? "");
  }

  SetTimeout(seconds: number): void {
    write(this, "timeoutSeconds", seconds);
  }
}
