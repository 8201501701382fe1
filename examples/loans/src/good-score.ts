import type { ScriptContext } from "millrace/script";

/** The rule of an automatic transition, as a plain function. To throw would fault the instance. */
export function Handler(context: ScriptContext): boolean {
  const { amount, score } = context.Instance!.Data;
  return amount <= 3000 && score >= 800;
}
