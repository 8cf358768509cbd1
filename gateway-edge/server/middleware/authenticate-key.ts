import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Response } from "express";
import { AppError } from "../../../common/errors.ts";
import { hasKeyShape, secretSha256 } from "../../../common/key-shape.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";

/** Which headers may carry a key: `gateway` takes all four, `hosted` only x-gw-api-key. */
export type AuthProfile = "gateway" | "hosted";

export type KeyReading = { type: "key"; secret: string } | { type: "refused" } | { type: "repeated"; header: string };

/** What authentication needs to know of the world; access/ implements it. */
export interface KeyDirectory {
  /** The caller behind a key; undefined when there is none. Throws UNAVAILABLE when nobody can say. */
  findCaller(sha256: Buffer): Caller | undefined | Promise<Caller | undefined>;
  /** Compares in constant time. */
  isMasterKey(sha256: Buffer): boolean;
}

const CARRIERS = ["x-gw-api-key", "authorization", "x-api-key", "api-key"] as const;
type Carrier = (typeof CARRIERS)[number];
const CARRIER_LENGTHS: ReadonlySet<number> = new Set(CARRIERS.map(({ length }) => length));

const MASTER_KEY_LENGTH_MIN = 16;

/** Authenticates who calls, before a byte of the body is read. What the caller may do is decided later, by admit. */
export function authenticateKey(
  profile: AuthProfile,
  directory: KeyDirectory,
): (request: IncomingMessage, response: Response) => Promise<void> | undefined {
  const authenticate = keyAuthentication(profile, directory);
  return (request, response) => {
    const caller = authenticate(request);
    if (caller instanceof Promise) {
      return caller.then((found) => {
        response.locals["caller"] = found;
      });
    }
    response.locals["caller"] = caller;
    return undefined;
  };
}

/** Who sent a request; at once where this edge knows the key, as it nearly always does. */
function keyAuthentication(profile: AuthProfile, directory: KeyDirectory): (request: IncomingMessage) => Caller | Promise<Caller> {
  const known = (caller: Caller | undefined): Caller => {
    if (caller === undefined) throw invalidKey(profile);
    return caller;
  };
  const hasherOf = hashers();
  return (request) => {
    const hash = hasherOf(request.socket);
    const reading = readKey(request.rawHeaders, { profile, isKey: keyTest(directory, hash) });
    if (reading.type === "repeated") throw new AppError("INVALID_REQUEST", `The header ${reading.header} was sent more than once.`);
    const caller = reading.type === "key" ? directory.findCaller(hash(reading.secret)) : undefined;
    return caller instanceof Promise ? caller.then(known) : known(caller);
  };
}

/** The caller that authenticateKey found. */
export function callerOf(response: Response): Caller {
  const caller = response.locals["caller"] as Caller | undefined;
  if (caller === undefined) throw new Error("an inference route without authenticateKey before it");
  return caller;
}

/** Whether a text may be a key: by its checksum, or because it is the master key. No RPC. */
export function keyTest(directory: Pick<KeyDirectory, "isMasterKey">, hash = secretSha256): (text: string) => boolean {
  return (text) => hasKeyShape(text) || (mayBeMasterKey(text) && directory.isMasterKey(hash(text)));
}

type Hash = (text: string) => Buffer;

/** One for each connection, which nearly always brings the same key again: no secret is remembered longer than its connection lasts. */
function hashers(): (connection: Socket) => Hash {
  const known = new WeakMap<Socket, Hash>();
  return (connection) => {
    const found = known.get(connection);
    if (found) return found;
    const made = rememberLast(secretSha256);
    known.set(connection, made);
    return made;
  };
}

function rememberLast(hash: Hash): Hash {
  let last: { text: string; hashed: Buffer } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, hashed: hash(text) };
    return last.hashed;
  };
}

/**
 * The one strict reader of credentials. It has no precedence among carriers: what smuggles an identity past a front
 * proxy is precedence. Two carriers must agree; only a Bearer that is no key is ignored beside a good x-gw-api-key,
 * because stock clients cannot leave the Authorization header out.
 */
export function readKey(
  rawHeaders: readonly string[],
  { profile, isKey }: { profile: AuthProfile; isKey: (text: string) => boolean },
): KeyReading {
  const given = new Map<Carrier, string>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const raw = rawHeaders[index] ?? "";
    // Nearly all headers are none, and most of those are told by their length.
    if (!CARRIER_LENGTHS.has(raw.length)) continue;
    const name = raw.toLowerCase() as Carrier;
    if (!CARRIERS.includes(name)) continue;
    if (given.has(name)) return { type: "repeated", header: name };
    given.set(name, rawHeaders[index + 1] ?? "");
  }
  const own = given.get("x-gw-api-key");
  const secret = own ?? (profile === "gateway" ? firstOther(given) : undefined);
  if (secret === undefined || !isKey(secret)) return { type: "refused" };
  // A single one agrees with itself.
  const agrees =
    given.size === 1 || [...given].every(([carrier, value]) => agreesWith(secret, { carrier, value, ownGiven: own !== undefined, isKey }));
  return agrees ? { type: "key", secret } : { type: "refused" };
}

function firstOther(given: ReadonlyMap<Carrier, string>): string | undefined {
  const authorization = given.get("authorization");
  return authorization === undefined ? (given.get("x-api-key") ?? given.get("api-key")) : bearerToken(authorization);
}

function agreesWith(
  secret: string,
  { carrier, value, ownGiven, isKey }: { carrier: Carrier; value: string; ownGiven: boolean; isKey: (text: string) => boolean },
): boolean {
  if (carrier !== "authorization") return value === secret;
  const token = bearerToken(value);
  if (token === undefined) return false;
  return token === secret || (ownGiven && !isKey(token));
}

/** The token of `Bearer <token>`: one space, no comma, any case of the scheme. Undefined for every other scheme. */
function bearerToken(value: string): string | undefined {
  const match = /^bearer(?: ([^\s,]+))?$/i.exec(value);
  return match ? (match[1] ?? "") : undefined;
}

function mayBeMasterKey(text: string): boolean {
  return text.startsWith("sk-") && text.length >= MASTER_KEY_LENGTH_MIN;
}

// Missing, ill-formed, unknown, revoked and expired look alike: the answer tells nobody which keys exist.
function invalidKey(profile: AuthProfile): AppError {
  const advice =
    profile === "hosted"
      ? "Send your API key in the x-gw-api-key header; no other header is accepted here."
      : "Send your API key as `Authorization: Bearer sk-...` or in the x-gw-api-key header.";
  return new AppError("INVALID_API_KEY", `No valid API key was given. ${advice}`);
}
