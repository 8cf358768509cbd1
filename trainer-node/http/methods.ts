import type { RequestHandler } from "express";
import { TrainerError } from "../errors.ts";

/** Answers OPTIONS (204, no CORS headers: no web page is invited) and refuses every other method with what is allowed. */
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
