const NETWORK_GROUPS = 4;
const ALL_GROUPS = 8;

/** What limits count as one client: an IPv4 address, or an IPv6 network of 64 bits, whose addresses one client can choose from freely. */
export function networkOf(address: string): string {
  const canonical = URL.parse(`http://[${address.split("%")[0]}]`)?.hostname.slice(1, -1);
  if (canonical === undefined) return address;
  // An IPv4 address in the form of an IPv6 one.
  if (canonical.startsWith("::ffff:")) return canonical;
  const [head = "", tail = ""] = canonical.split("::");
  const [first, last] = [head, tail].map((part) => (part === "" ? [] : part.split(":")));
  const groups = [...(first ?? []), ...Array<string>(ALL_GROUPS - (first ?? []).length - (last ?? []).length).fill("0"), ...(last ?? [])];
  return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64`;
}
