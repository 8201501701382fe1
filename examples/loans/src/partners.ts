import type { ScriptBase } from "millrace/script";

/** Whom this domain calls. A helper: see mappings/partners.json. */
export const Partners = {
  /** `npm start` runs the partners of the sample by itself, and says where they are. */
  url(script: ScriptBase, path: string): string {
    const base = script.GetConfigValue("Partners:Url");
    if (base !== null) return `${base}${path}`;
    throw new Error(
      "It is not known where the partners are. Set Partners__Url, and list it in Scripting.Environment.",
    );
  },
};
