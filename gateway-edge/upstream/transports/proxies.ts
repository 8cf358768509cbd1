import { BlockList, isIP } from "node:net";
import { ConfigError } from "../../../common/config.ts";
import type { Address } from "./address.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A proxy of the operator. */
export interface UpstreamProxy {
  readonly host: string;
  readonly port: number;
  /** The connection to the proxy itself is encrypted. */
  readonly isTls: boolean;
  /** The value of `proxy-authorization`, if the proxy's URL has a user. */
  readonly authorization: string | undefined;
}

/** The proxy of an upstream; undefined: it is called directly. */
export type ProxyOf = (address: Pick<Address, "host" | "port" | "isTls">) => UpstreamProxy | undefined;

export const NO_PROXIES: ProxyOf = () => undefined;

/**
 * Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY; the spelling in lower case wins, and HTTP_PROXY counts for https where HTTPS_PROXY is not
 * set. Upstreams of this machine are always called directly. Throws ConfigError for a URL that names no proxy.
 */
export function readProxies(environment: Environment): ProxyOf {
  const plain = proxyIn(environment, "http_proxy");
  const encrypted = proxyIn(environment, "https_proxy") ?? plain;
  if (!plain && !encrypted) return NO_PROXIES;
  const isExempt = readExemptions(valueIn(environment, "no_proxy") ?? "");
  return (address) => (isExempt(address) ? undefined : address.isTls ? encrypted : plain);
}

function valueIn(environment: Environment, name: string): string | undefined {
  return environment[name] || environment[name.toUpperCase()] || undefined;
}

function proxyIn(environment: Environment, name: string): UpstreamProxy | undefined {
  const text = valueIn(environment, name);
  if (text === undefined) return undefined;
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new ConfigError([`${name.toUpperCase()} must be the http or https URL of a proxy, such as http://proxy.example:3128`]);
  }
  const isTls = url.protocol === "https:";
  return {
    host: withoutBrackets(url.hostname),
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    isTls,
    authorization: url.username === "" ? undefined : basicAuthorization(url),
  };
}

/** User and password are percent-encoded in a URL. */
function basicAuthorization({ username, password }: URL): string {
  const [user, secret] = [username, password].map((text) => decoded(text));
  return `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface Exemption {
  readonly host: string;
  readonly port: number | undefined;
}

/** Entries of NO_PROXY: `*`, a host name with its subdomains, an IP address, or a network such as 10.0.0.0/8; a port may follow a host. */
function readExemptions(text: string): (address: Pick<Address, "host" | "port">) => boolean {
  const entries = text.toLowerCase().split(/[\s,]/).filter(Boolean);
  if (entries.includes("*")) return () => true;
  const networks = new BlockList();
  const hosts = entries.filter((entry) => !addNetwork(networks, entry)).map(exemptionOf);
  return ({ host, port }) =>
    host === "localhost" || isLoopback(host) || isInside(networks, host) || hosts.some((exemption) => isNamed(exemption, host, port));
}

function addNetwork(networks: BlockList, entry: string): boolean {
  const [address = "", bits] = entry.split("/");
  const family = isIP(address);
  if (family === 0 || bits === undefined || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 6 ? 128 : 32)) return false;
  networks.addSubnet(address, Number(bits), family === 6 ? "ipv6" : "ipv4");
  return true;
}

function exemptionOf(entry: string): Exemption {
  const [, host = entry, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  return { host: withoutBrackets(host).replace(/^\*?\./, ""), port: port === undefined ? undefined : Number(port) };
}

function isNamed(exemption: Exemption, host: string, port: number): boolean {
  const isHost = host === exemption.host || (isIP(host) === 0 && host.endsWith(`.${exemption.host}`));
  return isHost && (exemption.port === undefined || exemption.port === port);
}

function isInside(networks: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && networks.check(host, family === 6 ? "ipv6" : "ipv4");
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

const isLoopback = (host: string): boolean => isInside(LOOPBACK, host);

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, "$1");
