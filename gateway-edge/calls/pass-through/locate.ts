import { AppError } from "../../../common/errors.ts";
import type { Upstream } from "./upstreams.ts";

const PATH_LENGTH_MAX = 2048;

/** Keys in the query are the client's and are never forwarded. */
const CREDENTIALS: ReadonlySet<string> = new Set(["key", "api_key", "api-key", "access_token", "oauth_token"]);
/** Google leaves out of an answer what these do not name, and wraps it, also its usage. */
const ANSWER_SHAPES: ReadonlySet<string> = new Set(["fields", "callback"]);
/** Formats of answers that are read for their usage; Google's default is JSON. */
const READ_FORMATS: ReadonlySet<string> = new Set(["sse", "json"]);

/**
 * The provider's URL for a path below our prefix. It stays on the provider's host and below its base path: `..` segments and encoded
 * slashes are refused. Parameters that would change the method of a call or the form of a billed answer are not forwarded.
 */
export function locate(upstream: Upstream, { originalUrl, method }: { originalUrl: string; method: string }, prefix: string): URL {
  const mark = originalUrl.indexOf("?");
  const path = (mark < 0 ? originalUrl : originalUrl.slice(0, mark)).slice(prefix.length).replace(/^\/+/, "");
  if (path.length > PATH_LENGTH_MAX || !isPlain(path)) throw new AppError("INVALID_REQUEST", "The path is not valid.");
  const { root, row } = upstream;
  const base = root.pathname.replace(/(?<!\/)\/+$/, "");
  const version = row.version !== undefined && !/^v\d/.test(path) ? `/${row.version}` : "";
  const url = new URL(root.origin);
  url.pathname = `${base}${version}/${path}`;
  if (url.origin !== root.origin || !url.pathname.startsWith(`${base}/`)) throw new AppError("INVALID_REQUEST", "The path is not valid.");
  const query = new URLSearchParams(mark < 0 ? "" : originalUrl.slice(mark + 1));
  url.search = new URLSearchParams([...query].filter((parameter) => isForwarded(parameter, method))).toString();
  return url;
}

function isForwarded([name, value]: readonly [string, string], method: string): boolean {
  // Google takes each of its parameters with this mark too, and some with it alone, such as a method in place of the request's.
  if (CREDENTIALS.has(name) || name.startsWith("$")) return false;
  if (method !== "POST") return true;
  return !ANSWER_SHAPES.has(name.toLowerCase()) && (name.toLowerCase() !== "alt" || READ_FORMATS.has(value));
}

function isPlain(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
  if (/%2f|%5c|%00|[\\\u0000-\u001f]/i.test(path)) return false;
  return path.split("/").every((step) => !/^(\.|%2e){1,2}$/i.test(step));
}
