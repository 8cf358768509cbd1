/** What a process is to the others. */
export const ROLES = ["control-plane", "edge", "coordinator", "trainer", "operator"] as const;
export type PeerRole = (typeof ROLES)[number];

/** The process at the other end of an internal connection, as its certificate names it. */
export interface Peer {
  readonly role: PeerRole;
  readonly name: string;
}

/** Names have no colon, because an edge id is the name, a colon and the rest. */
export const PEER_NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

/** The alternative name (URI) by which a certificate says who its owner is. */
export const peerUri = ({ role, name }: Peer): string => `tributary://${role}/${name}`;

/** The peer in a certificate's alternative names, as Node prints them. A certificate with none, or with several, belongs to no peer. */
export function peerOf(subjectAltName: string | undefined): Peer | undefined {
  // Node quotes a name that contains a separator: such a text cannot be split, and ours need no quotes.
  if (subjectAltName === undefined || subjectAltName.includes('"')) return undefined;
  const uris = subjectAltName.split(", ").filter((name) => name.startsWith("URI:tributary://"));
  const [, role, name] = /^URI:tributary:\/\/([^/]+)\/([^/]+)$/.exec(uris[0] ?? "") ?? [];
  const known = ROLES.find((one) => one === role);
  if (uris.length !== 1 || known === undefined || name === undefined || !PEER_NAME.test(name)) return undefined;
  return { role: known, name };
}

/** The id of one start of an edge. With a certificate it begins with the certificate's name, so that it belongs to it. */
export const edgeIdOf = (peer: Peer | undefined, rest: string): string => (peer === undefined ? rest : `${peer.name}:${rest}`);

/** The name whose edge ids an edge id is one of; undefined: it was made without a certificate. */
export function ownerOf(edgeId: string): string | undefined {
  const end = edgeId.indexOf(":");
  return end < 0 ? undefined : edgeId.slice(0, end);
}
