import type { IncomingMessage } from "node:http";
import type { Request, Response } from "express";
import { AppError } from "../../../common/errors.ts";
import type { CallOptions } from "../../../common/grpc/client.ts";
import { secretSha256 } from "../../../common/key-shape.ts";
import type { ControlPlane } from "../../access/clients/control-plane.ts";
import { requestIdOf } from "./request-id.ts";
import { cookieToken } from "./session-cookie.ts";

const TOKEN_BYTES_MAX = 4096;
const USER_AGENT_LENGTH_MAX = 200;
const BEARER = /^bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+) *$/i;
const BEARER_KEY = /^bearer +(sk-\S{13,253}) *$/i;
const KEY = /^sk-\S{13,253}$/;

/**
 * The platform JWT of a request, from its header or else from the console's cookie. Only its presence and shape are checked here. The
 * control plane verifies it and the user's permissions in the same call that does the work.
 */
export function bearerToken(request: IncomingMessage): string {
  return tokenIn(authorizationOf(request) ?? cookieAuthorization(request));
}

/** The platform JWT where authentication is optional; undefined for anything that is not a token. */
export function tokenIfAny(request: IncomingMessage): string | undefined {
  const { authorization } = request.headers;
  return authorization === undefined ? cookieToken(request) : BEARER.exec(authorization)?.[1];
}

/** A platform JWT, or the hash of an API key in x-gw-api-key or as bearer. Only the hash of a key leaves the edge. */
export function userOrKeyToken(request: IncomingMessage): string {
  return keyHash(request) ?? bearerToken(request);
}

/** Like userOrKeyToken, but without the console's cookie. */
export function userOrKeyHeader(request: IncomingMessage): string {
  const header = authorizationOf(request);
  const key = keyHash(request);
  if (key !== undefined) return key;
  if (header === undefined) throw unauthorized("Send a platform token as Authorization: Bearer <token>, or an API key as x-gw-api-key.");
  return tokenIn(header);
}

/** The metadata of calls to the control plane: token and whether it is the cookie's, request id, client address and user agent. */
export function callMetadata(request: Request, response: Response, token?: string): Record<string, string | undefined> {
  return {
    authorization: token,
    "x-session-cookie": token !== undefined && request.headers.authorization === undefined ? "true" : undefined,
    "x-request-id": requestIdOf(response),
    "x-client-ip": request.ip,
    "x-user-agent": userAgent(request),
  };
}

/** Shortened, and only what gRPC metadata can hold. */
function userAgent(request: Request): string | undefined {
  return request.headers["user-agent"]?.replace(/[^\x20-\x7e]/g, "?").slice(0, USER_AGENT_LENGTH_MAX);
}

/** Throws UNAUTHORIZED for an invalid token and FORBIDDEN for a user who is not a platform admin. */
export async function requireAdmin(control: ControlPlane, options: CallOptions): Promise<void> {
  const { user } = await control.identity.getMe({}, options);
  if (user?.role !== "admin") throw new AppError("FORBIDDEN", "Only a platform admin may do this.");
}

function tokenIn(header: string): string {
  const token = header.length <= TOKEN_BYTES_MAX + 16 ? BEARER.exec(header)?.[1] : undefined;
  if (token === undefined || token.length > TOKEN_BYTES_MAX) throw unauthorized("The token is not valid; log in again.");
  return token;
}

function keyHash(request: IncomingMessage): string | undefined {
  const key = request.headers["x-gw-api-key"] ?? BEARER_KEY.exec(authorizationOf(request) ?? "")?.[1];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || !KEY.test(key)) throw unauthorized("The API key in x-gw-api-key is not valid.");
  return `key-sha256 ${secretSha256(key).toString("hex")}`;
}

function authorizationOf(request: IncomingMessage): string | undefined {
  const sent = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "authorization");
  if (sent.length > 1) throw unauthorized("The Authorization header was sent more than once.");
  return sent.length === 0 ? undefined : (request.headers.authorization ?? "");
}

function cookieAuthorization(request: IncomingMessage): string {
  const token = cookieToken(request);
  if (token === undefined) throw unauthorized("Log in first: send the token as Authorization: Bearer <token>.");
  return `Bearer ${token}`;
}

function unauthorized(message: string): AppError {
  return new AppError("UNAUTHORIZED", message);
}
