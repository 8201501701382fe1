import type { Dynamic } from "../dynamic.ts";
import { read, WorkflowTask, write, writeJson } from "./workflow-task.ts";

/** Task type 23: trusted Python code outside the runtime. */
export class PythonTask extends WorkflowTask {
  get Script(): Dynamic {
    return read<Dynamic>(this, "script", null);
  }
  /** pythonNet, process or container. */
  get ExecutionMode(): string | null {
    return read<string | null>(this, "executionMode", null);
  }
  get Input(): Dynamic {
    return read<Dynamic>(this, "input", null);
  }
  get TimeoutSeconds(): number {
    return read(this, "timeoutSeconds", 30);
  }

  SetScript(script: unknown): void {
    writeJson(this, "script", script);
  }
  SetExecutionMode(executionMode: string | null | undefined): void {
    write(this, "executionMode", executionMode);
  }
  SetInput(input: unknown): void {
    writeJson(this, "input", input);
  }
  SetTimeoutSeconds(timeoutSeconds: number | null | undefined): void {
    write(this, "timeoutSeconds", timeoutSeconds ?? 30);
  }
}
