import { AppError } from "../../../common/errors.ts";
import type { Upstream } from "./upstreams.ts";

const PATH_LENGTH_MAX = 2048;

/**
 * The provider's URL for a path below our prefix. It stays on the provider's host and below its base path: `..` segments and encoded
 * slashes are refused. A key in the query is the client's and is never forwarded.
 */
export function locate(upstream: Upstream, rawUrl: string, prefix: string): URL {
  const mark = rawUrl.indexOf("?");
  const path = (mark < 0 ? rawUrl : rawUrl.slice(0, mark)).slice(prefix.length).replace(/^\/+/, "");
  if (path.length > PATH_LENGTH_MAX || !isPlain(path)) throw new AppError("INVALID_REQUEST", "The path is not valid.");
  const { root, row } = upstream;
  const base = root.pathname.replace(/(?<!\/)\/+$/, "");
  const version = row.version !== undefined && !/^v\d/.test(path) ? `/${row.version}` : "";
  const url = new URL(root.origin);
  url.pathname = `${base}${version}/${path}`;
  if (url.origin !== root.origin || !url.pathname.startsWith(`${base}/`)) throw new AppError("INVALID_REQUEST", "The path is not valid.");
  const query = new URLSearchParams(mark < 0 ? "" : rawUrl.slice(mark + 1));
  for (const name of ["key", "api_key", "api-key", "access_token"]) query.delete(name);
  url.search = query.toString();
  return url;
}

function isPlain(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
  if (/%2f|%5c|%00|[\\\u0000-\u001f]/i.test(path)) return false;
  return path.split("/").every((step) => !/^(\.|%2e){1,2}$/i.test(step));
}
