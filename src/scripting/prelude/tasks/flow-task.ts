import { requireText } from "../errors.ts";
import { TaskWithHeaders } from "./task-with-headers.ts";
import { read, readTexts, write } from "./workflow-task.ts";

/** What tasks have in common that reach another workflow: domain, flow, headers, how to call. */
export class FlowTask extends TaskWithHeaders {
  get TriggerDomain(): string {
    return read(this, "domain", "");
  }
  get TriggerFlow(): string {
    return read(this, "flow", "");
  }
  get UseDapr(): boolean {
    return read(this, "useDapr", false);
  }
  get ValidateSSL(): boolean {
    return read(this, "validateSsl", true);
  }
  get TimeoutSeconds(): number {
    return read(this, "timeoutSeconds", 30);
  }
  get AcceptedStatusCodes(): readonly string[] | null {
    return readTexts(this, "acceptedStatusCodes");
  }

  SetDomain(domain: string): void {
    write(this, "domain", requireText(domain, "domain"));
  }
  SetFlow(flow: string): void {
    write(this, "flow", requireText(flow, "flow"));
  }
  SetUseDapr(useDapr: boolean): void {
    write(this, "useDapr", useDapr);
  }
  SetValidateSSL(validateSSL: boolean): void {
    write(this, "validateSsl", validateSSL);
  }
  SetTimeout(seconds: number): void {
    write(this, "timeoutSeconds", seconds);
  }
}
