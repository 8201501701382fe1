import type { Viewer } from "../runtime/check-roles.ts";

interface Sent {
  readonly route: Readonly<Record<string, string | undefined>>;
  readonly transitionKey?: string | undefined;
}

/**
 * The viewer as if they made the request in question: grants may look at where a request goes, and
 * whoever asks what they may do has sent another one.
 */
export function asIfSent(viewer: Viewer, { route, transitionKey }: Sent): Viewer {
  const { request } = viewer;
  if (request === undefined) return viewer;
  return {
    ...viewer,
    request: {
      get headers() {
        return request.headers;
      },
      get query() {
        return request.query;
      },
      route: { ...request.route, ...route },
      transitionKey: transitionKey ?? request.transitionKey,
    },
  };
}
