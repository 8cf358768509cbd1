import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIPv4 } from "node:net";
import type { RequestHandler } from "express";
import type { TrainerSettings } from "../deps.ts";
import { TrainerError } from "../errors.ts";

/** Who may call: with a token whoever has it, from wherever; without one this machine only, unless the operator opened the node. */
export function refuseStrangers({ auth, token }: Pick<TrainerSettings, "auth" | "token">): RequestHandler {
  return (request, _response, next) => {
    refuseWebPages(request.headers);
    if (token !== undefined) {
      if (!keysOf(request.headers).some((key) => sameText(key, token)))
        throw new TrainerError("UNAUTHORIZED", "This node needs its token, as x-gw-api-key, x-api-key or Authorization: Bearer.");
    } else if (auth === "loopback" && !isLoopback(request.socket.remoteAddress)) {
      throw new TrainerError("UNAUTHORIZED", "This node answers its own machine only; its operator can set TRAINER_TOKEN.");
    }
    next();
  };
}

/** A page of another site may send a POST to this machine without asking; what it sends could reach a registered function. */
function refuseWebPages(headers: IncomingHttpHeaders): void {
  const site = String(headers["sec-fetch-site"] ?? "")
    .trim()
    .toLowerCase();
  if (site === "cross-site" || site === "same-site") throw new TrainerError("FORBIDDEN", "Web pages of other sites are not answered here.");
}

function keysOf(headers: IncomingHttpHeaders): string[] {
  const bearer = /^bearer +(.*)$/i.exec(headers.authorization?.trim() ?? "")?.[1];
  return [headers["x-gw-api-key"], headers["x-api-key"], bearer].filter((key) => typeof key === "string").map((key) => key.trim());
}

/** In a time that tells nothing of where they differ, nor of how long the secret is. */
function sameText(left: string, right: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.replace(/^::ffff:/i, "");
  return plain === "::1" || (isIPv4(plain) && plain.startsWith("127."));
}
