import type { IncomingMessage } from "node:http";
import type { Request, Response } from "express";
import { AppError } from "../../../common/errors.ts";

/** With the prefix `__Host-` browsers refuse the cookie from subdomains, other paths and plain http, except on loopback. */
const SECURE_COOKIE = "__Host-tributary";
/** Only for plain http, where some browsers drop the other cookie, so that a console on a private network works. */
const PLAIN_COOKIE = "tributary-session";
const TOKEN = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * The token in the console's cookie; undefined without one. Browsers send cookies by themselves, so a write is only accepted if the browser
 * reports that a page of this origin made it.
 */
export function cookieToken(request: IncomingMessage): string | undefined {
  const token = readCookie(request, { secure: SECURE_COOKIE, plain: PLAIN_COOKIE });
  if (token === undefined || !TOKEN.test(token)) return undefined;
  if (!SAFE_METHODS.has(request.method ?? "")) requireSameOrigin(request);
  return token;
}

export function setSessionCookie(request: Request, response: Response, session: { token: string; expiresAt: Date }): void {
  const attributes = `Path=/; Expires=${session.expiresAt.toUTCString()}; HttpOnly; SameSite=Strict`;
  response.append("set-cookie", `${SECURE_COOKIE}=${session.token}; ${attributes}; Secure`);
  if (!request.secure) response.append("set-cookie", `${PLAIN_COOKIE}=${session.token}; ${attributes}`);
}

export function clearSessionCookie(response: Response): void {
  const attributes = "Path=/; Max-Age=0; HttpOnly; SameSite=Strict";
  response.append("set-cookie", `${SECURE_COOKIE}=; ${attributes}; Secure`);
  response.append("set-cookie", `${PLAIN_COOKIE}=; ${attributes}`);
}

/** The value of a cookie that has two names, one of them only for plain http. */
export function readCookie(request: IncomingMessage, names: { secure: string; plain: string }): string | undefined {
  const cookies = readCookies(request.headers.cookie);
  // Over https a site that can set cookies for a sibling host could set the plain cookie.
  return cookies.get(names.secure) ?? (isSecure(request) ? undefined : cookies.get(names.plain));
}

/** Refuses a request from another site's page. Browsers send one of the two headers with every write. */
export function requireSameOrigin(request: IncomingMessage): void {
  const site = request.headers["sec-fetch-site"];
  const isOwn = site === undefined ? originHost(request.headers.origin) === request.headers.host : site === "same-origin";
  if (!isOwn) throw new AppError("FORBIDDEN", "This request must come from a page of the console, not from another site.");
}

function originHost(origin: string | undefined): string | undefined {
  return (origin === undefined ? null : URL.parse(origin))?.host;
}

function isSecure(request: IncomingMessage): boolean {
  return (request as Partial<Request>).secure === true;
}

function readCookies(header: string | undefined): Map<string, string> {
  const pairs = (header ?? "").split(";").map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
  });
  return new Map(pairs);
}
