import { json, type RequestHandler } from "express";
import { z } from "zod";
import { CAPABILITIES, type Capability } from "../../../common/capabilities.ts";
import { parseWith } from "../../operations/schemas.ts";
import type { Participants } from "./participants.ts";

const LOOK_MS = 3000;
const LOOKS_MAX = 64;
/** The federation does not exist yet: the call sees what a tenant without anything on the node would see. */
const NO_TENANT = "none";
const BODY_BYTES_MAX = "32mb";

const lookRequest = z.strictObject({
  participants: z.array(z.strictObject({ url: z.string().max(2048), token: z.string().max(256) })).max(10_000),
  needs: z.array(z.enum(CAPABILITIES)).min(1),
});

/** A participant by its place in the list, and what it cannot do. */
interface Unable {
  readonly index: number;
  readonly missing: readonly Capability[];
}

/**
 * `POST /v1/participants/look`: which participants of a federation that is about to be created are known to lack a capability it needs. One
 * that cannot be reached now, or is joined with a token later, is looked at before its first work.
 */
export function lookAtParticipants(participants: Pick<Participants, "capabilities">): RequestHandler[] {
  const look: RequestHandler = async (request, response) => {
    const { participants: asked, needs } = parseWith(lookRequest, request.body, "body");
    const signal = AbortSignal.timeout(LOOK_MS);
    const cannot: Unable[] = [];
    const waiting = asked.map((participant, index) => ({ ...participant, index })).filter(({ url }) => url !== "");
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
        const { index, url, token } = next;
        const able = await participants.capabilities({ url, token, secret: "", tenantId: NO_TENANT }, signal).catch(() => undefined);
        const missing = able ? needs.filter((need) => !able.has(need)) : [];
        if (missing.length > 0) cannot.push({ index, missing });
      }
    };
    await Promise.all(Array.from({ length: LOOKS_MAX }, worker));
    response.json({ cannot: cannot.sort((left, right) => left.index - right.index) });
  };
  return [json({ limit: BODY_BYTES_MAX }), look];
}
