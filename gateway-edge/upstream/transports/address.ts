import { AppError } from "../../../common/errors.ts";

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

const ADDRESSES_MAX = 1024;
/** Deployments have few addresses, and each call would parse its own again. */
const addresses = new Map<string, Address>();

export function addressOf(url: string): Address {
  const known = addresses.get(url);
  if (known) return known;
  const { origin, hostname, host, port, pathname, search, protocol, username, password } = new URL(url);
  if ((protocol !== "https:" && protocol !== "http:") || username !== "" || password !== "") {
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", {
      internal: `an address with the scheme ${protocol} or with a user`,
    });
  }
  if (addresses.size >= ADDRESSES_MAX) addresses.clear();
  const isTls = protocol === "https:";
  const address: Address = {
    origin,
    // The brackets belong to the URL, not to the address.
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (isTls ? 443 : 80) : Number(port),
    isTls,
    path: `${pathname}${search}`,
    authority: host,
  };
  addresses.set(url, address);
  return address;
}
