import { BlockList, isIP } from "node:net";

// Never an allowed destination, because cloud metadata services use these addresses.
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
  ["::", 96],
  ["64:ff9b:1::", 48],
  ["2001::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fec0::", 10],
  ["ff00::", 8],
]);
const LOCAL_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home\.arpa)$/;

/** Classifies a host name or address by its text alone, without a DNS lookup. */
export function placeOf(hostname: string): "public" | "private" | "link-local" {
  const host = hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  const written = isIP(host) === 6 ? canonicalV6(host) : host;
  const address = mappedV4(written) ?? written;
  const version = isIP(address);
  if (version === 0) {
    if (host === "metadata.google.internal") return "link-local";
    return LOCAL_NAME.test(host) || !host.includes(".") ? "private" : "public";
  }
  const family = version === 4 ? "ipv4" : "ipv6";
  if (LINK_LOCAL.check(address, family)) return "link-local";
  return PRIVATE.check(address, family) ? "private" : "public";
}

/** The normalized spelling of URLs, without a zone ID: ::ffff:127.0.0.1 is ::ffff:7f00:1. */
function canonicalV6(address: string): string {
  return new URL(`http://[${address.split("%")[0]}]`).hostname.slice(1, -1);
}

/** ::ffff:7f00:1 is 127.0.0.1, and so is 64:ff9b::7f00:1 behind NAT64. */
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
