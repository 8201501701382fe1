/** The state function of one instance for one caller, told of whatever may change its answer. */
import type { FastifyRequest } from "fastify";
import { findInstance, type InstancePlace } from "../functions/instance-call.ts";
import { renderState, type RenderedState } from "../functions/render-state.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { askerOf } from "./asker.ts";

export type StateRequest = FastifyRequest<{ Params: InstancePlace }>;

export interface WatchedState {
  /** Reads it anew, and throws when the caller may no longer look. */
  show(): Promise<RenderedState>;
  /** Calls `onChange` with every change since the watch began that `show` may not have seen. */
  wake(onChange: () => void): void;
  close(): void;
}

/** Found by what the caller said; from then on always the same instance: a key may change hands. */
export async function watchState(runtime: Runtime, request: StateRequest): Promise<WatchedState> {
  const { functionPorts: ports, changes } = runtime;
  const asker = askerOf(request);
  const { id } = await findInstance(ports, request.params);
  const place = { ...request.params, instance: id };
  let wake: (() => void) | undefined;
  let isChanged = false;
  // Before the first read, so that nothing happens unseen between the two.
  const watch = changes.watch(id, () => {
    isChanged = true;
    wake?.();
  });
  return {
    async show() {
      isChanged = false;
      const state = await renderState(ports, await findInstance(ports, place), asker);
      watch.saw(state.rev, state.children);
      return state;
    },
    wake(onChange) {
      wake = onChange;
      if (isChanged) onChange();
    },
    close: watch.close,
  };
}

/** The same, once and for all. */
export async function readState(runtime: Runtime, request: StateRequest): Promise<RenderedState> {
  const { functionPorts: ports } = runtime;
  const polled = await findInstance(ports, request.params);
  return renderState(ports, polled, askerOf(request));
}
