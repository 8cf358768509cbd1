import { BlockList, isIP } from "node:net";
import { AppError } from "../../common/errors.ts";
import { isProviderKind, PROVIDER_KINDS } from "../../common/model-data/provider-kinds.ts";

// Never an upstream, whatever its kind: cloud metadata services answer here.
const LINK_LOCAL = blockList([
  ["169.254.0.0", 16],
  ["fe80::", 10],
  ["fd00:ec2::254", 128],
]);
const PRIVATE = blockList([
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
  ["::", 127],
  ["fc00::", 7],
  ["ff00::", 8],
]);
const LOCAL_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa)$/;

/**
 * Refuses an upstream address that an admin of the platform should not be able to reach through the gateway. Only what the address
 * itself says is judged; a name that resolves to a private address is for the edge to refuse when it connects. The configuration file
 * is the operator's own and is not judged. Private addresses are allowed outside production, or with ALLOW_PRIVATE_UPSTREAMS.
 */
export function checkBaseUrl(kind: string, baseUrl: string | undefined, allowPrivate: boolean): void {
  const facts = isProviderKind(kind) ? PROVIDER_KINDS[kind] : undefined;
  if (baseUrl === undefined) {
    if (facts?.needsBaseUrl) refuse(`is required for a provider of the kind ${kind}`);
    return;
  }
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : refuse("must be an http or https address");
  if (url.protocol !== "http:" && url.protocol !== "https:") refuse("must be an http or https address");
  if (url.username !== "" || url.password !== "") refuse("must not hold a user name or password; use apiKey");
  const place = placeOf(url.hostname);
  if (place === "link-local") refuse("is a link-local address, where no model is");
  if (place === "private" && !facts?.isLocal && !allowPrivate) {
    refuse("is a private address; only an operator can allow it, with ALLOW_PRIVATE_UPSTREAMS=true");
  }
}

function placeOf(hostname: string): "public" | "private" | "link-local" {
  const host = hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  const address = mappedV4(host) ?? host;
  const version = isIP(address);
  if (version === 0) {
    if (host === "metadata.google.internal") return "link-local";
    return LOCAL_NAME.test(host) || !host.includes(".") ? "private" : "public";
  }
  const family = version === 4 ? "ipv4" : "ipv6";
  if (LINK_LOCAL.check(address, family)) return "link-local";
  return PRIVATE.check(address, family) ? "private" : "public";
}

/** ::ffff:7f00:1 is 127.0.0.1, and so is 64:ff9b::7f00:1 behind a translator. */
function mappedV4(host: string): string | undefined {
  const match = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host);
  if (!match) return undefined;
  const [high, low] = [Number.parseInt(match[1] ?? "0", 16), Number.parseInt(match[2] ?? "0", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function blockList(ranges: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, bits] of ranges) list.addSubnet(network, bits, network.includes(":") ? "ipv6" : "ipv4");
  return list;
}

function refuse(message: string): never {
  throw new AppError("VALIDATION_ERROR", `The base URL ${message}.`, { details: [{ path: "body.baseUrl", message }] });
}
