import type { RequestHandler } from "express";
import { TrainerError } from "../errors.ts";

/** Answers OPTIONS with 204 and without CORS headers, and refuses every other method with the allowed ones. */
export function onlyMethods(...methods: readonly string[]): RequestHandler {
  const allow = ["OPTIONS", ...methods].toSorted().join(", ");
  return (request, response) => {
    response.setHeader("Allow", allow);
    if (request.method === "OPTIONS") {
      response.status(204).end();
      return;
    }
    throw new TrainerError("METHOD_NOT_ALLOWED", `${request.method} is not allowed here; use ${methods.join(" or ")}.`, {
      details: { allow },
    });
  };
}
