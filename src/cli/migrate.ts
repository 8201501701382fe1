import { Command } from "commander";
import { StartRefusal } from "../engine/start-refusal.ts";
import { readConfig, withConfigFlags, type CommonFlags } from "./options.ts";
import { refuseWhenAway } from "./refuse-when-away.ts";

/** `millrace migrate`: brings the database of `DATABASE_URL` up to date and ends. */
export const migrateCommand = (): Command =>
  withConfigFlags(new Command("migrate"))
    .description("bring the database of DATABASE_URL up to date, then end")
    .action(async (flags: CommonFlags) => {
      const url = readConfig(flags).config["Database.Url"];
      if (url === "") {
        throw new StartRefusal(
          "There is nothing to migrate: DATABASE_URL is empty. The embedded database is migrated by every start.",
        );
      }
      const { migrate } = await import("../storage/postgres/migrate.ts");
      const { applied, serverVersion } = await migrate(url).catch(refuseWhenAway);
      const done = applied.length === 0 ? "nothing to do" : `applied ${applied.join(", ")}`;
      console.log(`PostgreSQL ${serverVersion}: ${done}`);
    });
