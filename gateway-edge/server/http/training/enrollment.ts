import { type Request, type Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import { CAPABILITIES_HEADER } from "../../../../common/training/capabilities.ts";
import { parseJson, readBody, requireJsonType } from "../../../calls/read-body.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { enrollBody, enrolledAnswer } from "../../../schemas/platform/training.ts";
import { callMetadata } from "../../middleware/authenticate-user.ts";
import { allowOnly } from "../../middleware/operation.ts";
import { validate } from "../../middleware/validate.ts";

const PATH = "/training/join";
const CALL_MS = 5000;
const BODY_BYTES_MAX = 64 * 1024;
const TOKEN = /^bearer +(join_[A-Za-z0-9_-]{20,100}) *$/i;

/** The join token, or the join link, of a request. */
export function joinTokenOf(request: Request): string {
  const token = TOKEN.exec(request.headers.authorization ?? "")?.[1];
  if (token === undefined) throw new AppError("UNAUTHORIZED", "Send the join token as Authorization: Bearer join_...");
  return token;
}

/** Routes by which a participant with the join link of an open federation gets a place in it, and gives it up. */
export function enrollment({ control }: Pick<EdgeDeps, "control">): Router {
  const optionsOf = (request: Request, response: Response) => ({ deadlineMs: CALL_MS, metadata: callMetadata(request, response) });
  const router = Router({ caseSensitive: true });
  router.post(PATH, async (request, response) => {
    const token = joinTokenOf(request);
    const { maxSamples: agreed } = validate(enrollBody, await readJson(request), "body");
    const asked = {
      token,
      capabilities: request.get(CAPABILITIES_HEADER) ?? "",
      maxSamples: agreed === undefined ? undefined : BigInt(agreed),
    };
    const enrolled = await control.training.enrollParticipant(asked, optionsOf(request, response));
    const { federationId, participantId, maxSamples } = enrolled;
    const limit = maxSamples === undefined ? null : Number(maxSamples);
    response.status(201).json({ federationId, participantId, token: enrolled.token, maxSamples: limit });
  });
  router.delete(PATH, async (request, response) => {
    await control.training.leaveFederation({ token: joinTokenOf(request) }, optionsOf(request, response));
    response.status(204).end();
  });
  router.all(PATH, allowOnly(["POST", "DELETE"]));
  return router;
}

async function readJson(request: Request): Promise<unknown> {
  const bytes = await readBody(request, BODY_BYTES_MAX);
  if (bytes.length === 0) return {};
  requireJsonType(request);
  return parseJson(bytes);
}

const shared = { tags: ["Training"], auth: "none", path: PATH } as const;

export const enrollmentDescriptions: readonly OperationDescription[] = [
  {
    ...shared,
    method: "post",
    summary: "With the join link of an open federation: get a place and a join token of your own. X-Capabilities has what you declare",
    body: enrollBody,
    responses: {
      201: { description: "The place. A participant that sends its own join token gets it back.", schema: enrolledAnswer },
      409: { description: "The federation is full or has ended.", schema: z.looseObject({ error: z.string() }) },
    },
  },
  {
    ...shared,
    method: "delete",
    summary: "With your own join token: give up the place, which others can then take. Asking for a task takes it again",
    responses: { 204: { description: "The place is free." } },
  },
];
