/** Task types 1 to 4 and 20: calls through the sidecar's building blocks. */
import type { Dynamic } from "../dynamic.ts";
import { TaskWithHeaders } from "./task-with-headers.ts";
import { read, readTexts, WorkflowTask, write, writeJson } from "./workflow-task.ts";

/** Task type 1: an HTTP endpoint by name. */
export class DaprHttpEndpointTask extends TaskWithHeaders {
  get EndpointName(): string {
    return read(this, "endpointName", "");
  }
  get Path(): string {
    return read(this, "path", "");
  }
  get Method(): string {
    return read(this, "method", "GET");
  }
  get Body(): Dynamic {
    return read<Dynamic>(this, "body", null);
  }

  SetEndpointName(endpointName: string): void {
    write(this, "endpointName", endpointName);
  }
  SetPath(path: string): void {
    write(this, "path", path);
  }
  SetBody(body: unknown): void {
    writeJson(this, "body", body);
  }
}

/** Task type 2: an output binding. */
export class DaprBindingTask extends WorkflowTask {
  get BindingName(): string {
    return read(this, "bindingName", "");
  }
  get Operation(): string {
    return read(this, "operation", "");
  }
  get Metadata(): Dynamic {
    return read<Dynamic>(this, "metadata", null);
  }
  get Data(): Dynamic {
    return read<Dynamic>(this, "data", null);
  }

  SetData(data: unknown): void {
    writeJson(this, "data", data);
  }
  SetMetadata(metadata: Readonly<Record<string, string | null>> | null): void {
    writeJson(this, "metadata", metadata);
  }
}

/** Task type 3: a call of another service. */
export class DaprServiceTask extends TaskWithHeaders {
  get AppId(): string {
    return read(this, "appId", "");
  }
  get MethodName(): string {
    return read(this, "methodName", "");
  }
  get HttpVerb(): string {
    return read(this, "httpVerb", "GET");
  }
  get Body(): Dynamic {
    return read<Dynamic>(this, "body", null);
  }
  get QueryString(): string | null {
    return read<string | null>(this, "queryString", null);
  }
  get TimeoutSeconds(): number {
    return read(this, "timeoutSeconds", 30);
  }
  get AcceptedStatusCodes(): readonly string[] | null {
    return readTexts(this, "acceptedStatusCodes");
  }

  SetAppId(appId: string): void {
    write(this, "appId", appId);
  }
  SetMethodName(methodName: string): void {
    write(this, "methodName", methodName);
  }
  SetQueryString(queryString: string | null | undefined): void {
    write(this, "queryString", queryString);
  }
  SetBody(body: unknown): void {
    writeJson(this, "body", body);
  }
  /** Another name of `SetBody`, which older documents use. */
  SetData(data: unknown): void {
    this.SetBody(data);
  }
  SetTimeout(seconds: number): void {
    write(this, "timeoutSeconds", seconds);
  }
}

/** Task type 4: a message to a topic. */
export class DaprPubSubTask extends WorkflowTask {
  get PubSubName(): string {
    return read(this, "pubSubName", "");
  }
  get Topic(): string {
    return read(this, "topic", "");
  }
  get Data(): Dynamic {
    return read<Dynamic>(this, "data", null);
  }
  get Metadata(): Dynamic {
    return read<Dynamic>(this, "metadata", null);
  }

  SetPubSubName(pubSubName: string): void {
    write(this, "pubSubName", pubSubName);
  }
  SetTopic(topic: string): void {
    write(this, "topic", topic);
  }
  SetData(data: unknown): void {
    writeJson(this, "data", data);
  }
  SetMetadata(metadata: Readonly<Record<string, string | null>> | null): void {
    writeJson(this, "metadata", metadata);
  }
}

/** Task type 20: a conversation with a language model. */
export class DaprConversationTask extends WorkflowTask {
  get ComponentName(): string {
    return read(this, "componentName", "");
  }
  get Inputs(): Dynamic {
    return read<Dynamic>(this, "inputs", null);
  }
  get Parameters(): Dynamic {
    return read<Dynamic>(this, "parameters", null);
  }
  get Metadata(): Dynamic {
    return read<Dynamic>(this, "metadata", null);
  }
  get ContextId(): string | null {
    return read<string | null>(this, "contextId", null);
  }
  get Temperature(): number | null {
    return read<number | null>(this, "temperature", null);
  }
  get ScrubPII(): boolean | null {
    return read<boolean | null>(this, "scrubPII", null);
  }
  get TimeoutSeconds(): number {
    return read(this, "timeoutSeconds", 30);
  }

  SetComponentName(componentName: string): void {
    write(this, "componentName", componentName);
  }
  SetInputs(inputs: unknown): void {
    writeJson(this, "inputs", inputs);
  }
  SetParameters(parameters: Readonly<Record<string, string | null>> | null): void {
    writeJson(this, "parameters", parameters);
  }
  SetMetadata(metadata: unknown): void {
    writeJson(this, "metadata", metadata);
  }
  SetContextId(contextId: string | null | undefined): void {
    write(this, "contextId", contextId);
  }
  SetTemperature(temperature: number | null | undefined): void {
    write(this, "temperature", temperature);
  }
  SetScrubPII(scrubPII: boolean | null | undefined): void {
    write(this, "scrubPII", scrubPII);
  }
  SetTimeoutSeconds(timeoutSeconds: number | null | undefined): void {
    write(this, "timeoutSeconds", timeoutSeconds ?? 30);
  }
}
