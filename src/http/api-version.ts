/** `/api/v1` and `/api/v1.0` are the same; routes are written once, for `/api/v1`. */
export const apiVersion = "1.0";

const longForm = /^\/api\/v1\.0(?=[/?#]|$)/i;
const anyForm = /^\/api\//i;

export function toShortVersion(url: string): string {
  // "/api/v1." is the only way to be the long form; one comparison settles all other requests.
  return url.charCodeAt(7) === 46 && longForm.test(url) ? `/api/v1${url.slice(9)}` : url;
}

export const isApiPath = (url: string): boolean => anyForm.test(url);
