import { Command } from "commander";
import { settings, shownValue, type Config, type SettingName } from "../config.ts";
import { StartRefusal } from "../engine/start-refusal.ts";
import { describeIdentity, identityMode } from "../http/identity-mode.ts";
import { serviceVersion } from "../service-version.ts";
import { readConfig, withConfigFlags, type CommonFlags } from "./options.ts";

/**
 * `millrace doctor`: the effective configuration, where each value comes from, secrets masked; with
 * `--audit` instead what is wrong with the instances of the database, exit code 1 if anything is.
 */
export const doctorCommand = (): Command =>
  withConfigFlags(new Command("doctor"))
    .description("print the effective configuration, secrets masked, or audit the database")
    .option("--json", "print as JSON")
    .option("--audit", "check the instances of the database of DATABASE_URL; reads only")
    .action(async (flags: CommonFlags & { json?: boolean; audit?: boolean }) => {
      const { config, sources } = readConfig(flags);
      if (flags.audit === true) {
        const { auditDatabase } = await import("./audit-database.ts");
        if (await auditDatabase(config, { json: flags.json === true })) process.exitCode = 1;
        return;
      }
      const rows = (Object.keys(settings) as SettingName[]).map((name) => ({
        name,
        value: shownValue(name, config[name]),
        source: sources[name],
        about: settings[name].about,
      }));
      if (flags.json === true) {
        const shown = { version: serviceVersion(), callers: callersOf(config), settings: rows };
        console.log(JSON.stringify(shown, undefined, 2));
        return;
      }
      const width = Math.max(...rows.map((row) => row.name.length));
      const lines = rows.flatMap(({ name, value, source, about }) => [
        `${name.padEnd(width)}  ${value === "" ? "(empty)" : value}  [${source}]`,
        `${" ".repeat(width)}  ${about}`,
      ]);
      // In one piece: a reader that has seen enough (`| head`) may close the pipe.
      console.log(
        [
          `millrace ${serviceVersion()} on Node ${process.version}`,
          `callers: ${callersOf(config)}`,
          "",
          ...lines,
        ].join("\n"),
      );
    });

/** How callers are known, or why the service would not start. */
function callersOf(config: Config): string {
  try {
    return describeIdentity(identityMode(config));
  } catch (error) {
    if (error instanceof StartRefusal) return `the start is refused: ${error.message}`;
    throw error;
  }
}
