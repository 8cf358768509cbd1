import { json, type RequestHandler } from "express";
import { z } from "zod";
import { parseWith } from "../../operations/schemas.ts";
import { CANNOT_MASK, type SecureParticipants } from "./participants.ts";

const LOOK_MS = 3000;
/** The federation does not exist yet: the call sees what a tenant without anything on the node would see. */
const NO_TENANT = "none";

const lookRequest = z.strictObject({
  participants: z.array(z.strictObject({ url: z.string().max(2048), token: z.string().max(256) })).max(255),
});

/**
 * `POST /v1/secure/look`: which participants of a federation that is about to be created are known to be unable to mask their updates, by their
 * place in the list. Who cannot be reached now may be able to later.
 */
export function lookAtParticipants(participants: SecureParticipants): RequestHandler[] {
  const look: RequestHandler = async (request, response) => {
    const asked = parseWith(lookRequest, request.body, "body").participants;
    const signal = AbortSignal.timeout(LOOK_MS);
    const cannot = await Promise.all(
      asked.map(({ url, token }) =>
        participants.reach({ url, token, secret: "", tenantId: NO_TENANT }, signal).then(
          () => false,
          (thrown: unknown) => Object(thrown).message === CANNOT_MASK,
        ),
      ),
    );
    response.json({ cannot: cannot.flatMap((isUnable, index) => (isUnable ? [index] : [])) });
  };
  return [json({ limit: "1mb" }), look];
}
