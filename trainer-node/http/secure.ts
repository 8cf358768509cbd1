import { createHash } from "node:crypto";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { z } from "zod";
import { fixedPointFor } from "../compute/privacy/fixed-point.ts";
import type { TrainerDeps } from "../deps.ts";
import { TrainerError } from "../errors.ts";
import { parseWith } from "../operations/schemas.ts";
import { helpFor, introduction, newSecrets, sharesFor } from "../privacy/secure-sum.ts";
import { layoutOf } from "../privacy/secure-work.ts";
import {
  fromBase64,
  introductionText,
  placeId,
  readIntroduction,
  sealedShare,
  toBase64,
  writeHelp,
  writeIntroduction,
} from "../privacy/wire.ts";
import { createHiddenUpdates, type HiddenUpdate, type HiddenUpdates, refuseChangedRequest } from "../rounds/hidden-updates.ts";
import { BODY_IDLE_MS, runCall } from "./calls.ts";
import { onlyMethods } from "./methods.ts";
import { readBody } from "./read-body.ts";
import { signedCall } from "./signed-call.ts";
import { withinTenant } from "./tenant.ts";

const PATH = "/v1/secure/:round/:client";
const STEP_BYTES_MAX = 4 * 1024 * 1024;
const PLACES_MAX = 255;
/** From a sum of two, each participant could compute the other's update. */
const PLACES_MIN = 3;

/** With the body, what a training is asked for with. */
const ASKED_HEADERS = ["content-type", "x-train-config"] as const;

const places = z.array(placeId).max(PLACES_MAX);
const sharesRequest = z.strictObject({
  everybody: z.array(introductionText).min(PLACES_MIN).max(PLACES_MAX),
  threshold: z.int().min(2).max(PLACES_MAX),
});
const maskedRequest = z.strictObject({
  partners: places.min(2),
  factor: z.number().min(0).max(1),
  range: z.number().positive().max(1e6),
});
const helpRequest = z.strictObject({ in_sum: places, shares: z.record(placeId, sealedShare) });

/**
 * `/v1/secure/{round}/{client}/train|shares|masked|help`: a participant's side of a secure sum (privacy/secure-sum.ts). `train` works as
 * `/v1/train`, but the update stays on the node. It leaves only by `masked`, under its masks.
 */
export function secureRoutes(deps: TrainerDeps): Router {
  const hidden = createHiddenUpdates({ clock: deps.clock, bytesMax: deps.settings.bytesBudget / 4 });
  const router = Router();
  router.post(`${PATH}/train`, trainHidden(deps, hidden));
  router.post(`${PATH}/shares`, step(deps, hidden, shareSecrets(deps)));
  router.post(`${PATH}/masked`, step(deps, hidden, sendMasked(deps)));
  router.post(`${PATH}/help`, step(deps, hidden, help));
  router.all(`${PATH}/:step`, onlyMethods("POST"));
  return router;
}

function trainHidden(deps: TrainerDeps, hidden: HiddenUpdates): RequestHandler {
  return async (request, response) => {
    const { round, client } = placeOf(request);
    const { bodyBytesMax, bodyIdleMs: idleMs = BODY_IDLE_MS } = deps.settings;
    const signed = signedCall(request, deps);
    const reservation = deps.budget.open();
    try {
      const asked = createHash("sha256").update(JSON.stringify(ASKED_HEADERS.map((name) => request.get(name) ?? null)));
      const onChunk = (chunk: Uint8Array): void => {
        signed?.hash(chunk);
        asked.update(chunk);
      };
      const body = await readBody(request, response, { bodyBytesMax, idleMs, reservation, onChunk });
      let isMine = false;
      const held = await hidden.begin(nameOf(request), async () => {
        isMine = true;
        // The caller may disconnect and repeat the call, so the work continues.
        const input = { operation: "train", body, answerType: "octets", signal: new AbortController().signal } as const;
        const { body: update, head } = await runCall(request, input, deps);
        signed?.requireSameBody();
        // Its metrics are exact figures of its own rows, and stay with the update that they are of.
        const { num_samples } = JSON.parse(head ?? "{}") as Record<string, unknown>;
        const secrets = newSecrets({ round, id: client, randomBytes: deps.random.bytes });
        return { secrets, update, layout: layoutOf(update), fields: { num_samples }, asked: new Map([["train", asked.digest("hex")]]) };
      });
      if (!isMine) {
        await body.sendRest(AbortSignal.abort());
        signed?.requireSameBody();
        refuseChangedRequest(held, "train", asked.digest("hex"));
      }
      response.json({ ...held.fields, layout: held.layout, introduction: writeIntroduction(introduction(held.secrets)) });
    } finally {
      reservation.release();
    }
  };
}

type Step = (held: HiddenUpdate, body: unknown, response: Response) => void | Promise<void>;

function step(deps: TrainerDeps, hidden: HiddenUpdates, work: Step): RequestHandler {
  return async (request, response) => {
    const signed = signedCall(request, deps);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > STEP_BYTES_MAX) throw new TrainerError("PAYLOAD_TOO_LARGE", `The body has more than ${STEP_BYTES_MAX} bytes.`);
      signed?.hash(chunk);
      chunks.push(chunk);
    }
    signed?.requireSameBody();
    await work(await hidden.find(nameOf(request)), readJson(Buffer.concat(chunks).toString("utf8")), response);
  };
}

function shareSecrets({ random }: TrainerDeps): Step {
  return (held, body, response) => {
    const request = parseWith(sharesRequest, body, "body");
    const everybody = request.everybody.map(readIntroduction);
    const { threshold } = request;
    const ids = request.everybody.map(({ id }) => id);
    requireMine(held, ids);
    held.group ??= {
      everybody,
      threshold,
      shares: Object.fromEntries(
        [...refusing(() => sharesFor(held.secrets, everybody, { threshold, randomBytes: random.bytes }))].map(([id, sealed]) => [
          id,
          toBase64(sealed),
        ]),
      ),
    };
    refuseChangedRequest(held, "shares", JSON.stringify(request));
    response.json({ shares: held.group.shares });
  };
}

function sendMasked({ pool }: TrainerDeps): Step {
  return async (held, body, response) => {
    const request = parseWith(maskedRequest, body, "body");
    const { everybody, threshold } = requireGroup(held);
    requireMine(held, request.partners);
    const partners = everybody.filter(({ id }) => request.partners.includes(id));
    if (partners.length !== new Set(request.partners).size || partners.length < threshold)
      throw new TrainerError(
        "VALIDATION_ERROR",
        `body.partners must name at least ${threshold} participants of body.everybody of the shares step, each once.`,
      );
    refuseChangedRequest(held, "masked", JSON.stringify(request));
    held.partners = partners;
    if (!held.update) throw new TrainerError("ROUND_CLOSED", "This node has answered help for this round already, so its update is gone.");
    const fixed = fixedPointFor({ clients: everybody.length, limit: request.range });
    const work = { step: "mask", update: held.update, factor: request.factor, fixed, secrets: held.secrets, partners } as const;
    const { body: words } = await pool.run({ type: "secure", work }, { signal: new AbortController().signal });
    response.type("application/octet-stream").end(Buffer.from(words.buffer, words.byteOffset, words.byteLength));
  };
}

function help(held: HiddenUpdate, body: unknown, response: Response): void {
  const request = parseWith(helpRequest, body, "body");
  const { everybody: known, threshold } = requireGroup(held);
  const { partners: everybody = known } = held;
  const received = new Map(Object.entries(request.shares).map(([from, sealed]) => [from, fromBase64(sealed)]));
  const answer = refusing(() => helpFor(held.secrets, { everybody, received, inSum: request.in_sum, threshold }));
  // Only an answered request is recorded: a refused one revealed nothing.
  refuseChangedRequest(held, "help", JSON.stringify([...request.in_sum].sort()));
  held.update = undefined;
  response.json(writeHelp(answer));
}

function requireMine({ secrets }: HiddenUpdate, ids: readonly string[]): void {
  if (!ids.includes(secrets.id)) throw new TrainerError("VALIDATION_ERROR", `The request must include this participant, ${secrets.id}.`);
}

function requireGroup({ group }: HiddenUpdate): NonNullable<HiddenUpdate["group"]> {
  if (!group) throw new TrainerError("NOT_READY", "This node has not shared its secrets yet. Call the shares step first.");
  return group;
}

/** A request that the protocol forbids is the coordinator's error, so it is answered with 422 and not with 500. */
function refusing<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    const { message } = Object(cause) as { message?: unknown };
    throw new TrainerError("VALIDATION_ERROR", `Refused: ${String(message)}.`, { cause });
  }
}

function placeOf({ params }: Request): { round: string; client: string } {
  const parsed = z.object({ round: placeId, client: placeId }).safeParse(params);
  if (!parsed.success)
    throw new TrainerError("VALIDATION_ERROR", "The round and the client in the path must have 1 to 200 characters each.");
  return parsed.data;
}

function nameOf(request: Request): string {
  const { round, client } = placeOf(request);
  return withinTenant(request, JSON.stringify([round, client]));
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TrainerError("MALFORMED_JSON", "The body is not JSON.", { cause });
  }
}
