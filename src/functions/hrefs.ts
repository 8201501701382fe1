/** Where things are, as answers say it: relative, below the API's own path. */

interface Place {
  readonly domain: string;
  readonly flow: string;
  readonly id: string;
}

const text = encodeURIComponent;

export const instanceHref = ({ domain, flow, id }: Place): string =>
  `/api/v1/${text(domain)}/workflows/${text(flow)}/instances/${id}`;

export const functionHref = (place: Place, name: string, query: Query = []): string =>
  `${instanceHref(place)}/functions/${text(name)}${queryText(query)}`;

export const transitionHref = (place: Place, key: string): string =>
  `${instanceHref(place)}/transitions/${text(key)}`;

export const domainFunctionHref = (domain: string, name: string): string =>
  `/api/v1/${text(domain)}/functions/${text(name)}`;

export type Query = readonly (readonly [name: string, value: string])[];

export const queryText = (query: Query): string =>
  query.length === 0 ? "" : `?${query.map(([name, value]) => `${name}=${text(value)}`).join("&")}`;
