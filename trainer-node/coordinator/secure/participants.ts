import { z } from "zod";
import type { MadeOrigin } from "../../blobs/blob-owners.ts";
import { type HelpText, helpText, type IntroductionText, introductionText, sealedShare } from "../../privacy/wire.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import {
  type CallBody,
  type CallNode,
  type NodeAddress,
  type NodeAnswer,
  readAnswer,
  refusal,
  requireAccepted,
  wholeBody,
} from "../participants/node-call.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { asJson, fieldsOf, jsonBody, octetBody, type ParticipantTask, readSamples, trainHeader } from "../participants/participants.ts";

/** A participant's place in a secure round. */
export interface SecurePlace {
  readonly round: string;
  readonly client: string;
}

/** A participant's answer to the train step. */
export interface Introduced {
  readonly introduction: IntroductionText;
  readonly samples: number | undefined;
  readonly layout: z.infer<typeof layoutText>;
}

/** The steps of a secure sum on trainer nodes. Each may be repeated with the same request. */
export interface SecureParticipants {
  /** Throws if the participant cannot be reached or cannot mask its updates. */
  reach(node: NodeAddress, signal: AbortSignal): Promise<void>;
  train(node: NodeAddress, place: SecurePlace, task: ParticipantTask, signal: AbortSignal): Promise<Introduced>;
  shares(node: NodeAddress, place: SecurePlace, asked: SharesAsked, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  masked(node: NodeAddress, place: SecurePlace, asked: MaskedAsked, signal: AbortSignal): Promise<{ blob: string; bytes: number }>;
  help(node: NodeAddress, place: SecurePlace, asked: HelpAsked, signal: AbortSignal): Promise<HelpText>;
}

/** The request of the shares step. */
export interface SharesAsked {
  readonly everybody: readonly IntroductionText[];
  readonly threshold: number;
}

/** The request of the masked step. */
export interface MaskedAsked {
  readonly partners: readonly string[];
  readonly factor: number;
  readonly range: number;
  /** Expected size of the answer. */
  readonly bytes: number;
  /** Whether the federation's organization may read the update; `made` if absent. */
  readonly origin?: MadeOrigin;
}

/** The request of the help step. */
export interface HelpAsked {
  readonly inSum: readonly string[];
  readonly shares: Readonly<Record<string, string>>;
}

const CANNOT_MASK = "it cannot mask its updates: secureAggregation requires participants with the capability mask";
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const LOOK_MS = 10_000;

const dtype = z.enum(["f16", "bf16", "f32", "f64"]);
const layoutText = z.array(z.strictObject({ name: z.string(), dtype, shape: z.array(z.int().min(0)).max(32) })).max(10_000);
const trained = z.object({ introduction: introductionText, num_samples: z.number().optional(), layout: layoutText });
const shared = z.object({ shares: z.record(z.string(), sealedShare) });
const info = z.object({ secure_aggregation: z.array(z.string()) });

/** Creates calls of the secure steps over HTTP. */
export function createSecureParticipants({ call, blobs }: { call: CallNode; blobs: BlobFolder }): SecureParticipants {
  const post = async (node: NodeAddress, path: string, sent: { body: CallBody; headers?: Record<string, string> }, signal: AbortSignal) => {
    requireAddress(node);
    const answer = await call(
      node,
      { method: "POST", path, headers: { accept: "application/json", ...sent.headers }, body: sent.body },
      signal,
    );
    if (answer.status !== 200) throw await refusal(answer);
    return answer;
  };
  return {
    reach: async (node, signal) => {
      requireAddress(node);
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
      const answer = await call(node, { method: "GET", path: "/v1/info" }, inTime);
      const text = (await readAnswer(answer, ANSWER_BYTES_MAX)).toString("utf8");
      requireAccepted(answer);
      if (answer.status >= 500) throw new ParticipantProblem(`it answered ${answer.status}`, { again: true });
      if (answer.status !== 200 || !info.safeParse(parseJson(text)).success) throw new ParticipantProblem(CANNOT_MASK, { again: false });
    },
    train: async (node, place, task, signal) => {
      const header = trainHeader(task);
      const sent = header
        ? { body: await octetBody(blobs, task), headers: { "x-train-config": header } }
        : { body: await jsonBody(blobs, fieldsOf(task, "octets"), task) };
      const answer = await readAs(trained, await post(node, pathOf(place, "train"), sent, signal));
      const { introduction, num_samples: declared, layout } = answer;
      if (introduction.id !== place.client) throw new ParticipantProblem("its introduction has another id", { again: false });
      return { introduction, samples: readSamples(declared), layout };
    },
    shares: async (node, place, asked, signal) =>
      (await readAs(shared, await post(node, pathOf(place, "shares"), { body: asJson(asked) }, signal))).shares,
    masked: async (node, place, { bytes, origin, ...asked }, signal) => {
      const answer = await post(
        node,
        pathOf(place, "masked"),
        { body: asJson(asked), headers: { accept: "application/octet-stream" } },
        signal,
      );
      const kept = await blobs.of(node.tenantId, origin).keep(wholeBody(answer), { bytes });
      if (kept.bytes !== bytes) throw new ParticipantProblem(`it sent ${kept.bytes} masked bytes, not ${bytes}`, { again: false });
      return { blob: kept.sha256, bytes };
    },
    help: async (node, place, { inSum, shares }, signal) =>
      readAs(helpText, await post(node, pathOf(place, "help"), { body: asJson({ in_sum: inSum, shares }) }, signal)),
  };
}

const pathOf = ({ round, client }: SecurePlace, step: string): string =>
  `/v1/secure/${encodeURIComponent(round)}/${encodeURIComponent(client)}/${step}`;

function requireAddress({ url }: NodeAddress): void {
  if (!/^https?:/.test(url))
    throw new ParticipantProblem("it cannot be called over HTTP, which secureAggregation requires", { again: false });
}

async function readAs<Schema extends z.ZodType>(schema: Schema, answer: NodeAnswer): Promise<z.infer<Schema>> {
  const read = schema.safeParse(parseJson((await readAnswer(answer, ANSWER_BYTES_MAX)).toString("utf8")));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new ParticipantProblem(`its answer is invalid: ${issue?.path.join(".")}: ${issue?.message}`, { again: false });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
