import { isIPv4 } from "node:net";
import type { RequestHandler } from "express";
import { TrainerError } from "../errors.ts";

/** The contract asks for a key from anywhere but loopback; this node cannot check one yet, so it answers nobody else unless told to. */
export function loopbackOnly(auth: "loopback" | "none"): RequestHandler {
  return (request, _response, next) => {
    if (auth === "loopback" && !isLoopback(request.socket.remoteAddress)) {
      throw new TrainerError("UNAUTHORIZED", "This node answers its own machine only; its operator can set TRAINER_AUTH=none.");
    }
    next();
  };
}

export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.replace(/^::ffff:/i, "");
  return plain === "::1" || (isIPv4(plain) && plain.startsWith("127."));
}
