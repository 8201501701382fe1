/** Writes the message into the service's log, where secrets are masked. */
import { toPlain } from "../engine/exact-json.ts";
import type { Sender } from "./sender.ts";

export type WriteLog = (event: string, fields: Record<string, unknown>) => void;

export const createLogSender =
  (log: WriteLog): Sender =>
  ({ channel, key, operation, data, metadata }) => {
    log("Notification", { channel, key, operation, data: toPlain(data), metadata });
    return Promise.resolve({ sender: "log" });
  };
