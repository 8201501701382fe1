/**
 * What nodes say to each other about instances.
 *
 * asks   a node has just begun to listen: who waits?
 * waits  readers of this node wait for instances to change; repeated while they do
 * wrote  this node has written the instances; without ids: so many that looking is quicker
 */
import { longestMessage } from "../storage/change-feed.ts";

export type ChangeMessage =
  | { kind: "asks" | "waits"; node: string }
  | { kind: "wrote"; node: string; ids: readonly string[] };

/** More than these in a moment are not told one by one. */
const mostMessages = 4;

export const asks = (node: string): string => `asks ${node}`;
export const waits = (node: string): string => `waits ${node}`;

export function wrote(node: string, ids: readonly string[]): string[] {
  const head = `wrote ${node}`;
  const perMessage = Math.floor((longestMessage - head.length) / (idLength + 1));
  if (ids.length > perMessage * mostMessages) return [head];
  const messages: string[] = [];
  for (let at = 0; at < ids.length; at += perMessage) {
    messages.push(`${head} ${ids.slice(at, at + perMessage).join(" ")}`);
  }
  return messages;
}

const idLength = 36;

/** Undefined for what another version of the product may say. */
export function readMessage(text: string): ChangeMessage | undefined {
  const [kind, node, ...ids] = text.split(" ");
  if (node === undefined) return undefined;
  if (kind === "asks" || kind === "waits") return { kind, node };
  return kind === "wrote" ? { kind, node, ids } : undefined;
}
