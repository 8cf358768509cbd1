import { AppError } from "../../../../common/errors.ts";
import type { UpstreamRequest } from "../../providers/provider.ts";

/** Where a request goes, read from its URL. */
export interface Address {
  readonly origin: string;
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly path: string;
  /** The `host` header. */
  readonly authority: string;
}

/** Asked for plainly: compressed answers would have to be unpacked, and a stream of them comes in lumps. */
export const PLAINLY = { "accept-encoding": "identity" };

/** Plain names, none of them about the connection or the body's length: those are ours to set. */
const NAME =
  /^(?!(?:connection|content-length|expect|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$)[!#$%&'*+\-.^_`|~0-9a-z]+$/i;
const VALUE = /^[\t\x20-\x7e]*$/;

const NAMES_MAX = 256;
/** Names that were found plain. */
const plainNames = new Set<string>();

/** The request as it goes out; undefined where it is more than text under ordinary headers. */
export function serializeRequest({ path, authority }: Address, { method = "POST", headers, body }: UpstreamRequest): string | undefined {
  if (typeof body !== "string" && method !== "GET") return undefined;
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive\r\naccept-encoding: identity\r\n`;
  for (const name of Object.keys(headers)) {
    const value = headers[name] ?? "";
    if (!isPlain(name) || !VALUE.test(value)) return undefined;
    if (!isCoding(name)) head += `${name}: ${value}\r\n`;
  }
  if (method === "GET") return `${head}\r\n`;
  const content = body as string;
  return `${head}content-length: ${Buffer.byteLength(content)}\r\n\r\n${content}`;
}

/** What only we may ask for, however it is written. */
export function isCoding(name: string): boolean {
  return name.length === 15 && name.toLowerCase() === "accept-encoding";
}

function isPlain(name: string): boolean {
  if (plainNames.has(name)) return true;
  if (!NAME.test(name)) return false;
  if (plainNames.size >= NAMES_MAX) plainNames.clear();
  plainNames.add(name);
  return true;
}

const ADDRESSES_MAX = 1024;
/** Deployments have few addresses, and each call would read its own again. */
const addresses = new Map<string, Address>();

export function addressOf(url: string): Address {
  const known = addresses.get(url);
  if (known) return known;
  const { origin, hostname, host, port, pathname, search, protocol, username, password } = new URL(url);
  if ((protocol !== "https:" && protocol !== "http:") || username !== "" || password !== "") {
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", {
      internal: `an address of the kind ${protocol} or with a user`,
    });
  }
  if (addresses.size >= ADDRESSES_MAX) addresses.clear();
  const isTls = protocol === "https:";
  const address: Address = {
    origin,
    // Brackets are the URL's, not the address's.
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (isTls ? 443 : 80) : Number(port),
    isTls,
    path: `${pathname}${search}`,
    authority: host,
  };
  addresses.set(url, address);
  return address;
}
