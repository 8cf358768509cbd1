/** Of the name of a data set. A key of the store has the name twice, and at most 1,978 bytes. */
export const NAME_BYTES_MAX = 900;

/**
 * The place that a URI names, without what only opens it: pre-signed addresses have another query each time. One place can be written in several
 * ways, which give the same text; undefined if it is no URI.
 */
export function placeOf(uri: string): { place: string; search: string } | undefined {
  try {
    const { protocol, host, pathname, search } = new URL(uri);
    return { place: `${protocol}//${host}${decodeURIComponent(pathname).replace(/\/+/g, "/")}`, search };
  } catch {
    return undefined;
  }
}
