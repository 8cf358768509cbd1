import type { Socket } from "node:net";
import { CREDENTIAL_HEADERS } from "../../../common/credential-headers.ts";
import { AppError } from "../../../common/errors.ts";
import { requireScope } from "../../../common/key-scopes.ts";
import { hasKeyShape, secretSha256 } from "../../../common/key-shape.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { CallRequest, CallResponse } from "../../calls/http-exchange.ts";

/** Which credential headers are accepted: `gateway` accepts all, `hosted` only x-gw-api-key. */
export type AuthProfile = "gateway" | "hosted";

/** The key of a request, or why there is none. */
export type KeyReading = { type: "key"; secret: string } | { type: "refused" } | { type: "repeated"; header: string };

/** Looks up keys; implemented by the mirror in access/. */
export interface KeyDirectory {
  /** The caller of a key; undefined if there is none. Throws UNAVAILABLE if the control plane does not answer. */
  findCaller(sha256: Buffer): Caller | undefined | Promise<Caller | undefined>;
  /** Compares in constant time. */
  isMasterKey(sha256: Buffer): boolean;
}

type CredentialHeader = (typeof CREDENTIAL_HEADERS)[number];

/** The credential headers of a request. */
interface CredentialHeaders {
  get(name: CredentialHeader): string | undefined;
}

const CREDENTIAL_HEADER_LENGTHS: ReadonlySet<number> = new Set(CREDENTIAL_HEADERS.map(({ length }) => length));

const MASTER_KEY_LENGTH_MIN = 16;

/** Authenticates the caller before the body is read. `admit` decides later what the caller may do. */
export function authenticateKey(
  profile: AuthProfile,
  directory: KeyDirectory,
): (request: CallRequest, response: CallResponse) => Promise<void> | undefined {
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

/** The caller of a request; synchronous if the mirror has the key, as it nearly always does. */
export function keyAuthentication(
  profile: AuthProfile,
  directory: KeyDirectory,
): (request: Pick<CallRequest, "socket" | "rawHeaders">) => Caller | Promise<Caller> {
  const known = (caller: Caller | undefined): Caller => {
    if (caller === undefined) throw invalidKey(profile);
    requireScope(caller, "inference");
    return caller;
  };
  const testsOf = keyTests(profile, directory);
  return (request) => {
    const { hash, read } = testsOf(request.socket);
    const reading = read(request.rawHeaders);
    if (reading.type === "repeated") throw new AppError("INVALID_REQUEST", `The header ${reading.header} was sent more than once.`);
    const caller = reading.type === "key" ? directory.findCaller(hash(reading.secret)) : undefined;
    return caller instanceof Promise ? caller.then(known) : known(caller);
  };
}

/** The caller that authenticateKey stored. */
export function callerOf(response: Pick<CallResponse, "locals">): Caller {
  const caller = response.locals["caller"] as Caller | undefined;
  if (caller === undefined) throw new Error("an inference route without authenticateKey before it");
  return caller;
}

/** Whether a text can be a key: it has a valid checksum or is the master key. Makes no RPC. */
export function keyTest(
  directory: Pick<KeyDirectory, "isMasterKey">,
  { hash, hasShape }: { hash: typeof secretSha256; hasShape: typeof hasKeyShape } = { hash: secretSha256, hasShape: hasKeyShape },
): (text: string) => boolean {
  return (text) => hasShape(text) || (mayBeMasterKey(text) && directory.isMasterKey(hash(text)));
}

interface KeyTests {
  readonly hash: typeof secretSha256;
  readonly read: (rawHeaders: readonly string[]) => KeyReading;
}

/** One cache per connection, which nearly always sends the same key. No secret is cached longer than its connection. */
function keyTests(profile: AuthProfile, directory: KeyDirectory): (connection: Socket) => KeyTests {
  const known = new WeakMap<Socket, KeyTests>();
  return (connection) => {
    const found = known.get(connection);
    if (found) return found;
    const hash = rememberLast(secretSha256);
    const isKey = keyTest(directory, { hash, hasShape: rememberLast(hasKeyShape) });
    const made = { hash, read: rememberReading((rawHeaders) => readKey(rawHeaders, { profile, isKey })) };
    known.set(connection, made);
    return made;
  };
}

function rememberLast<Result>(read: (text: string) => Result): (text: string) => Result {
  let last: { text: string; result: Result } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, result: read(text) };
    return last.result;
  };
}

/**
 * The last key, if a request has one credential and it is the one that held that key. A refusal is not remembered: the master key may have
 * changed since.
 */
function rememberReading(read: KeyTests["read"]): KeyTests["read"] {
  let last: { name: string; value: string; reading: KeyReading } | undefined;
  return (rawHeaders) => {
    const at = onlyCredential(rawHeaders);
    if (last && at >= 0 && last.value === rawHeaders[at + 1] && last.name === rawHeaders[at]) return last.reading;
    const reading = read(rawHeaders);
    const [name, value] = at < 0 ? [] : rawHeaders.slice(at, at + 2);
    if (reading.type === "key" && name !== undefined && value !== undefined) last = { name, value, reading };
    return reading;
  };
}

/** Where a request has its only credential; below zero if it has none or several. */
function onlyCredential(rawHeaders: readonly string[]): number {
  let found = -1;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (!isCredential(rawHeaders[index] ?? "")) continue;
    if (found >= 0) return -1;
    found = index;
  }
  return found;
}

/** The length excludes most other headers cheaply. */
function isCredential(raw: string): boolean {
  return CREDENTIAL_HEADER_LENGTHS.has(raw.length) && CREDENTIAL_HEADERS.includes(raw.toLowerCase() as CredentialHeader);
}

/**
 * The only reader of credential headers. No header has precedence, because precedence would allow a caller to smuggle an identity past a
 * proxy in front. Two headers must agree. The exception is a Bearer token that is not a key: it is ignored beside a valid x-gw-api-key
 * or x-litellm-api-key, because some clients cannot omit the Authorization header.
 */
export function readKey(
  rawHeaders: readonly string[],
  { profile, isKey }: { profile: AuthProfile; isKey: (text: string) => boolean },
): KeyReading {
  const given = new Map<CredentialHeader, string>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const raw = rawHeaders[index] ?? "";
    if (!isCredential(raw)) continue;
    const name = raw.toLowerCase() as CredentialHeader;
    if (given.has(name)) return { type: "repeated", header: name };
    given.set(name, rawHeaders[index + 1] ?? "");
  }
  const own = ownKey(given, profile);
  const secret = own ?? otherKey(given, profile);
  if (secret === undefined || !isKey(secret)) return { type: "refused" };
  // A single header needs no comparison.
  const agrees =
    given.size === 1 || [...given].every(([header, value]) => agreesWith(secret, { header, value, ownGiven: own !== undefined, isKey }));
  return agrees ? { type: "key", secret } : { type: "refused" };
}

/** The text by which a request is authenticated, if it is a key and no other header contradicts it; the same for both profiles if both accept it. */
export function decidingCredential(given: CredentialHeaders): string | undefined {
  return ownKey(given, "gateway") ?? otherKey(given, "gateway");
}

function otherKey(given: CredentialHeaders, profile: AuthProfile): string | undefined {
  if (profile !== "gateway") return undefined;
  const authorization = given.get("authorization");
  return authorization === undefined ? (given.get("x-api-key") ?? given.get("api-key")) : bearerToken(authorization);
}

function agreesWith(
  secret: string,
  { header, value, ownGiven, isKey }: { header: CredentialHeader; value: string; ownGiven: boolean; isKey: (text: string) => boolean },
): boolean {
  if (header === "x-litellm-api-key") return withoutScheme(value) === secret;
  if (header !== "authorization") return value === secret;
  const token = bearerToken(value);
  if (token === undefined) return false;
  return token === secret || (ownGiven && !isKey(token));
}

/** The key in a header that is only for keys. LiteLLM's clients send theirs with or without a scheme. */
function ownKey(given: CredentialHeaders, profile: AuthProfile): string | undefined {
  const own = given.get("x-gw-api-key");
  if (own !== undefined || profile !== "gateway") return own;
  const value = given.get("x-litellm-api-key");
  return value === undefined ? undefined : withoutScheme(value);
}

function withoutScheme(value: string): string {
  return bearerToken(value) ?? value;
}

/** The token of `Bearer <token>`: one space, no comma, any case of the scheme. Undefined for every other scheme. */
function bearerToken(value: string): string | undefined {
  const match = /^bearer(?: ([^\s,]+))?$/i.exec(value);
  return match ? (match[1] ?? "") : undefined;
}

function mayBeMasterKey(text: string): boolean {
  return text.startsWith("sk-") && text.length >= MASTER_KEY_LENGTH_MIN;
}

// Missing, malformed, unknown, revoked and expired keys get the same error, so that it does not reveal which keys exist.
function invalidKey(profile: AuthProfile): AppError {
  const advice =
    profile === "hosted"
      ? "Send your API key in the x-gw-api-key header; no other header is accepted here."
      : "Send your API key as `Authorization: Bearer sk-...` or in the x-gw-api-key header.";
  return new AppError("INVALID_API_KEY", `No valid API key was given. ${advice}`);
}
