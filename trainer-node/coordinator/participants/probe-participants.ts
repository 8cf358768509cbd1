import { json, type RequestHandler } from "express";
import { z } from "zod";
import { orElse } from "../../../common/ignore.ts";
import { CAPABILITIES, type Capability } from "../../../common/training/capabilities.ts";
import { parseWith } from "../../operations/schemas.ts";
import type { Participants } from "./participants.ts";

const PROBE_MS = 3000;
const PROBES_MAX = 64;
/** The federation does not exist yet, so the call is made for a tenant that has nothing on the node. */
const NO_TENANT = "none";
const BODY_BYTES_MAX = "32mb";

const probeRequest = z.strictObject({
  participants: z
    .array(z.strictObject({ url: z.string().max(2048), token: z.string().max(256), secret: z.string().max(256).default("") }))
    .max(10_000),
  needs: z.array(z.enum(CAPABILITIES)).min(1),
});

/** A participant by its index in the request, and the capabilities it lacks. */
interface IncapableParticipant {
  readonly index: number;
  readonly missing: readonly Capability[];
}

/**
 * `POST /v1/participants/look`: finds the participants that are known to lack a capability that a new federation needs. Participants that
 * cannot be reached now, or join with a token later, are checked before their first work.
 */
export function probeParticipants(participants: Pick<Participants, "capabilities">): RequestHandler[] {
  const probe: RequestHandler = async (request, response) => {
    const { participants: asked, needs } = parseWith(probeRequest, request.body, "body");
    const signal = AbortSignal.timeout(PROBE_MS);
    const cannot: IncapableParticipant[] = [];
    const waiting = asked.map((participant, index) => ({ ...participant, index })).filter(({ url }) => url !== "");
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
        const { index, ...address } = next;
        const probed = participants.capabilities({ ...address, tenantId: NO_TENANT }, signal);
        const able = await orElse(probed, undefined, "the round checks a participant that is not there yet");
        const missing = able ? needs.filter((need) => !able.has(need)) : [];
        if (missing.length > 0) cannot.push({ index, missing });
      }
    };
    await Promise.all(Array.from({ length: PROBES_MAX }, worker));
    response.json({ cannot: cannot.sort((left, right) => left.index - right.index) });
  };
  return [json({ limit: BODY_BYTES_MAX }), probe];
}
