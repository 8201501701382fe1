/** `millrace doctor --audit`: says what is wrong with the instances of a database, if anything is. */
import type { Config } from "../config.ts";
import { StartRefusal } from "../engine/start-refusal.ts";
import { createIds } from "../ids.ts";
import { audit } from "../runtime/audit.ts";
import { createCatalogue } from "../runtime/catalogue.ts";
import { createAuditQueries } from "../storage/postgres/audit-queries.ts";
import { connectionRefusal } from "../storage/postgres/connection-refusal.ts";
import { openDatabase, sqlState } from "../storage/postgres/database.ts";
import { createComponentStore } from "../storage/postgres/postgres-component-store.ts";
import { refuseWhenAway } from "./refuse-when-away.ts";

const undefinedTable = "42P01";
const statementTimeoutMs = 120_000;

/** Findings are printed as they come, one per line. Resolves to whether there were any. */
export async function auditDatabase(config: Config, { json }: { json: boolean }): Promise<boolean> {
  const url = config["Database.Url"];
  if (url === "") {
    throw new StartRefusal(
      "There is no database to audit: DATABASE_URL is empty. Set it to the database of your service.",
    );
  }
  const database = openDatabase({
    url,
    poolSize: 2,
    statementTimeoutMs,
    applicationName: "millrace-doctor",
  });
  try {
    const catalogue = createCatalogue(createComponentStore(database, createIds()));
    await catalogue.reload();
    let instances = 0;
    let findings = 0;
    const onPage = (count: number) => (instances = count);
    for await (const finding of audit(
      { queries: createAuditQueries(database), catalogue },
      { onPage },
    )) {
      findings += 1;
      const { flow, instanceId, message } = finding;
      console.log(json ? JSON.stringify(finding) : `${flow} ${instanceId}: ${message}`);
    }
    if (json) console.log(JSON.stringify({ instances, findings }));
    else console.log(`${instances} instances audited, ${findings} findings`);
    return findings > 0;
  } catch (error) {
    if (sqlState(error) === undefinedTable) {
      throw new StartRefusal(
        "The database of DATABASE_URL is not Millrace's, or older than this version. Check the address, or run 'millrace migrate'.",
        { cause: error },
      );
    }
    return refuseWhenAway(connectionRefusal(error) ?? error);
  } finally {
    await database.close();
  }
}
