import type { ScriptContext } from "millrace/script";

/** The rule of a view. It says what somebody is shown, not what they may see: data have roles. */
export function Handler(context: ScriptContext): boolean {
  const roles = context.Headers?.get("role") ?? "";
  return roles.split(/[\s,]+/).includes("backoffice");
}
