import { createHash } from "node:crypto";
import type { SandboxHelper, SandboxScript } from "../../src/scripting/sandbox.ts";

/** A script with the id its content gives it. */
export function aScript(
  source: string,
  { name = "./src/script.ts", helpers = [] }: { name?: string; helpers?: SandboxHelper[] } = {},
): SandboxScript {
  const content = JSON.stringify([source, name, helpers]);
  return { id: createHash("sha256").update(content).digest("hex"), source, name, helpers };
}

/** A script whose only handler, `Handler`, has this body. */
export const aHandler = (body: string): SandboxScript =>
  aScript(`export async function Handler(input) { ${body} }`);
