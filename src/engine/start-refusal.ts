/**
 * The service cannot start, and the person who started it can do something about it. The message is
 * one clear sentence for that person: what, where, and the remedy; the command line prints it as it
 * is, without a stack.
 */
export class StartRefusal extends Error {
  override name = "StartRefusal";
}
