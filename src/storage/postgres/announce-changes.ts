import type { ChangeFeed } from "../change-feed.ts";
import type { Queries } from "./database.ts";
import { readStandings } from "./read-standings.ts";

/** The channel on which nodes speak about instances. */
export const changesChannel = "millrace_instances";

const announce = {
  name: "announce-changes",
  text: `select pg_notify('${changesChannel}', message) from unnest($1::text[]) message`,
};

export const createChangeFeed = (queries: Queries): ChangeFeed => ({
  async say(messages) {
    await queries.query(announce, [messages]);
  },
  standings: (ids) => readStandings(queries, ids),
});
