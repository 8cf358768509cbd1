import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIPv4 } from "node:net";
import type { Request, RequestHandler } from "express";
import { isLoopbackHost } from "../../common/exposed.ts";
import type { PeerRole } from "../../common/peers/peer.ts";
import type { TrainerSettings } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { callingPeer } from "./peer.ts";
import { setAnonymous } from "./tenant.ts";

/** Processes whose certificates count like being on this machine. */
const PEERS: readonly PeerRole[] = ["edge", "coordinator", "operator"];

type AccessSettings = Pick<TrainerSettings, "auth" | "token" | "secret" | "anonymous" | "hostNames"> & { peers?: readonly PeerRole[] };

/**
 * Refuses callers without access: with a token every caller must present it, and with `anonymous` only callers of other machines; without
 * one only this machine may call, and processes with a certificate of TLS_CA, unless TRAINER_AUTH=none. Web pages are refused, and calls that
 * need neither token, certificate nor signature also if they are to a name that may be a web page's.
 */
export function requireAccess({ auth, token, secret, anonymous = false, hostNames = [], peers = PEERS }: AccessSettings): RequestHandler {
  const ownNames = new Set(hostNames.map((name) => name.toLowerCase()));
  const isOpenTo = (address: string | undefined) => isLoopback(address) || (token === undefined && auth === "none");
  const presentsToken = (headers: IncomingHttpHeaders) => token !== undefined && keysOf(headers).some((key) => sameText(key, token));
  const isPeer = (request: Request) => token === undefined && peers.some((role) => role === callingPeer(request)?.role);
  return (request, _response, next) => {
    refuseWebPages(request.headers);
    if (presentsToken(request.headers) || isPeer(request)) return next();
    const isNear = isOpenTo(request.socket.remoteAddress);
    if (token !== undefined && !(anonymous && isNear)) throw needsToken();
    if (secret === undefined) refuseOtherNames(request.headers, ownNames);
    if (!isNear) throw isForThisMachine();
    // Tenants of the gateway can call this machine too, by the address of a node, so loopback does not prove that a caller is the operator.
    if (token !== undefined) setAnonymous(request);
    next();
  };
}

function needsToken(): TrainerError {
  return new TrainerError(
    "UNAUTHORIZED",
    "This node requires its token (TRAINER_TOKEN) as x-gw-api-key, x-api-key or Authorization: Bearer.",
  );
}

function isForThisMachine(): TrainerError {
  return new TrainerError(
    "UNAUTHORIZED",
    "This node accepts calls from its own machine only. Its operator can set TRAINER_TOKEN, or TLS_CERT and TLS_CA, to allow others.",
  );
}

/** A web page of another site can send a POST to this machine without a preflight, and its body could reach a registered function. */
function refuseWebPages(headers: IncomingHttpHeaders): void {
  const site = String(headers["sec-fetch-site"] ?? "")
    .trim()
    .toLowerCase();
  const own = addressOf(headers)?.host;
  const isOther = headers.origin !== undefined && (own === undefined || URL.parse(headers.origin)?.host !== own);
  if (site === "cross-site" || site === "same-site" || isOther)
    throw new TrainerError("FORBIDDEN", "Requests from web pages of other sites are refused.");
}

/**
 * A web page can let its own name resolve to this machine (DNS rebinding): its calls come from loopback and its Origin equals Host. Only the
 * name tells them from calls of the operator.
 */
function refuseOtherNames(headers: IncomingHttpHeaders, ownNames: ReadonlySet<string>): void {
  const name = addressOf(headers)?.hostname ?? "";
  // 0.0.0.0 and :: reach this machine, too, and are not names.
  if (isLoopbackHost(name) || name === "0.0.0.0" || name === "[::]" || ownNames.has(name)) return;
  throw new TrainerError(
    "FORBIDDEN",
    "Without a token or signature this node can be called as 127.0.0.1 or localhost only. Its operator can list further names in TRAINER_HOST_NAMES.",
  );
}

function addressOf({ host = "" }: IncomingHttpHeaders): URL | null {
  return URL.parse(`http://${host}`);
}

function keysOf(headers: IncomingHttpHeaders): string[] {
  const bearer = /^bearer +(.*)$/i.exec(headers.authorization?.trim() ?? "")?.[1];
  return [headers["x-gw-api-key"], headers["x-api-key"], bearer].filter((key) => typeof key === "string").map((key) => key.trim());
}

/** Compares in constant time. The digests hide the length of the secret, too. */
function sameText(left: string, right: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/** Whether an address is this machine's loopback interface. */
export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.replace(/^::ffff:/i, "");
  return plain === "::1" || (isIPv4(plain) && plain.startsWith("127."));
}
