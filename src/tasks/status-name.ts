/** A status as scripts of the public system know it: `NotFound` for 404. */
import { STATUS_CODES } from "node:http";

/** Where .NET has another word than the registry of statuses. */
const ownNames: Readonly<Record<number, string>> = {
  302: "Redirect",
  413: "RequestEntityTooLarge",
  414: "RequestUriTooLong",
  416: "RequestedRangeNotSatisfiable",
  418: "418",
  425: "425",
  509: "509",
};

export function statusName(status: number): string {
  const name = ownNames[status] ?? STATUS_CODES[status];
  if (name === undefined) return String(status);
  return name
    .split(/[\s-]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")
    .replace(/^HTTP/, "Http");
}
