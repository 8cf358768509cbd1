import { AppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { Guardrail } from "./guardrail.ts";

/**
 * The guardrails of a call: the default ones, the team's, the key's, and those in the request. A request can add guardrails, never remove
 * them. An unknown name refuses the call: it may be the one meant to protect a user.
 */
export function chosenGuardrails(
  known: ReadonlyMap<string, Guardrail>,
  { caller, request }: { caller: Pick<Caller, "guardrails">; request: Fields | undefined },
): Guardrail[] {
  // Without configured guardrails nearly every call has none.
  if (known.size === 0 && caller.guardrails.length === 0 && request?.["guardrails"] === undefined) return [];
  const asked = namesIn(request?.["guardrails"]);
  const names = new Set([...caller.guardrails, ...asked]);
  if (names.size === 0 && known.size === 0) return [];
  const unknown = [...names].find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new AppError("INVALID_REQUEST", `The guardrail "${unknown}" does not exist.`, {
      param: asked.includes(unknown) ? "guardrails" : undefined,
    });
  }
  return [...known.values()].filter(({ name, byDefault, enabled }) => enabled && (byDefault || names.has(name)));
}

function namesIn(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((name) => typeof name === "string")) return value;
  throw new AppError("INVALID_REQUEST", "guardrails: must be a list of names", { param: "guardrails" });
}
