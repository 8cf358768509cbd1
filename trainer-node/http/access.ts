import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIPv4 } from "node:net";
import type { RequestHandler } from "express";
import type { TrainerSettings } from "../deps.ts";
import { TrainerError } from "../errors.ts";

/**
 * Refuses callers without access: with a token every caller must present it; without one only this machine may call, unless
 * TRAINER_AUTH=none.
 */
export function requireAccess({ auth, token }: Pick<TrainerSettings, "auth" | "token">): RequestHandler {
  return (request, _response, next) => {
    refuseWebPages(request.headers);
    if (token !== undefined) {
      if (!keysOf(request.headers).some((key) => sameText(key, token)))
        throw new TrainerError(
          "UNAUTHORIZED",
          "This node requires its token (TRAINER_TOKEN) as x-gw-api-key, x-api-key or Authorization: Bearer.",
        );
    } else if (auth === "loopback" && !isLoopback(request.socket.remoteAddress)) {
      throw new TrainerError(
        "UNAUTHORIZED",
        "This node accepts calls from its own machine only. Its operator can set TRAINER_TOKEN to allow others.",
      );
    }
    next();
  };
}

/** A web page of another site can send a POST to this machine without a preflight, and its body could reach a registered function. */
function refuseWebPages(headers: IncomingHttpHeaders): void {
  const site = String(headers["sec-fetch-site"] ?? "")
    .trim()
    .toLowerCase();
  if (site === "cross-site" || site === "same-site")
    throw new TrainerError("FORBIDDEN", "Requests from web pages of other sites are refused.");
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
