import { hash } from "node:crypto";
import type { Capability } from "../../../common/training/capabilities.ts";
import { type Metrics, readMetrics } from "../../../common/training/metrics.ts";
import type { Properties } from "../../../common/training/selection-settings.ts";
import type { MadeOrigin } from "../../blobs/blob-owners.ts";
import { configHeader } from "../../operations/octet-headers.ts";
import { gathered } from "../../stream/give-back.ts";
import { type BlobFolder, requireBlob } from "../blobs/blob-folder.ts";
import type { Layout } from "../updates/inspect-update.ts";
import { type DigestUpdate, digestHere } from "../updates/update-digest.ts";
import { readCapabilities, readPropertiesOf } from "./capabilities.ts";
import { type Dialect, findDialect } from "./dialect.ts";
import { createParametersReader, jsonWithFiles } from "./json-parameters.ts";
import { type CallBody, type CallNode, type NodeAddress, type NodeAnswer, readAnswer, refusal, wholeBody } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";
import { boundedUpdate, mostBytesOf } from "./update-size.ts";

/** A task for a participant. Parameters are named by their hash, "" for a new model. */
export interface ParticipantTask {
  readonly parameters: string;
  readonly dataset: unknown;
  readonly config: Readonly<Record<string, unknown>>;
  /** The Idempotency-Key, so that a repeated call after a lost answer is recognized. */
  readonly key: string;
  readonly roundId: string;
  /** The participant's id in the federation. */
  readonly clientId: string;
  /** Whether the federation's organization may read the update; `made` if absent. */
  readonly origin?: MadeOrigin | undefined;
  /** Called with each report of the participant on how much is done, from 0 to 1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
}

/** The update of one participant, stored as a blob. */
export interface TrainedUpdate {
  readonly blob: string;
  readonly bytes: number;
  readonly samples: number | undefined;
  /** The numbers that the training returned. */
  readonly metrics?: Metrics;
  /** The layout that inspectUpdate found, if the update was inspected already. */
  readonly layout?: Layout | undefined;
}

/** The result of an evaluation. */
export interface Evaluation {
  readonly accuracy: number;
  readonly loss: number | undefined;
  readonly samples: number | undefined;
  /** Every number of the answer, accuracy included. */
  readonly metrics: Metrics;
}

/** Calls to participants, over HTTP or another transport. */
export interface Participants {
  /** Finds the dialect of a participant; throws if it cannot be reached. */
  reach(node: NodeAddress, signal: AbortSignal): Promise<Dialect>;
  /** The capabilities that the participant declares; throws if it cannot be reached now. */
  capabilities(node: NodeAddress, signal: AbortSignal): Promise<ReadonlySet<Capability>>;
  /** What the participant says about itself; throws if it cannot be reached now. Absent where participants have no properties. */
  properties?(node: NodeAddress, signal: AbortSignal): Promise<Properties>;
  /** Whether a participant that asks for its work is there now; undefined for one that is called. */
  isPresent?(node: NodeAddress): boolean | undefined;
  train(node: NodeAddress, task: ParticipantTask, signal: AbortSignal): Promise<TrainedUpdate>;
  /** Says that nothing of a round is needed any more, so that a training for it can stop. Absent where nothing goes on without a caller. */
  closeRound?(node: NodeAddress, roundId: string, signal: AbortSignal): Promise<void>;
  evaluate(node: NodeAddress, task: ParticipantTask, signal: AbortSignal): Promise<Evaluation>;
  /** Aggregates opaque parameters, which only participants can read. */
  aggregate(node: NodeAddress, blobs: readonly string[], signal: AbortSignal): Promise<string>;
}

/** Most bytes of an evaluation's answer. */
const JSON_BYTES_MAX = 16 * 1024 * 1024;
const REQUEST_ID_CHARACTERS_MAX = 128;
/** Bytes of an update written at a time; a socket delivers a quarter of it. */
const PIECE_BYTES = 256 * 1024;

/** Creates calls to participants over HTTP. */
export function createParticipants(options: { call: CallNode; blobs: BlobFolder; digestOf?: DigestUpdate }): Participants {
  const { call, blobs, digestOf = digestHere } = options;
  const dialects = new Map<string, Dialect>();
  const reach: Participants["reach"] = async (node, signal) => {
    const known = dialects.get(node.url);
    if (known) return known;
    const found = await findDialect(call, node, signal);
    dialects.set(node.url, found);
    return found;
  };
  /** Forgets a participant's dialect after a failure, because another program may run at its address by now. */
  const forgetting = async <Result>(node: NodeAddress, work: (dialect: Dialect) => Promise<Result>, signal: AbortSignal) => {
    try {
      return await work(await reach(node, signal));
    } catch (thrown) {
      dialects.delete(node.url);
      throw thrown;
    }
  };
  const ask = async (node: NodeAddress, work: ParticipantCall, signal: AbortSignal): Promise<NodeAnswer> => {
    const answer = await call(node, await requestOf(blobs, work), signal);
    if (answer.status === 200) return answer;
    const problem = await refusal(answer);
    // The dialect was a guess, so the route may not exist.
    if (answer.status !== 404 || work.dialect !== "train") throw problem;
    const other = await call(node, await requestOf(blobs, { ...work, dialect: "call" }), signal);
    if (other.status === 200) {
      dialects.set(node.url, "call");
      return other;
    }
    throw other.status === 404 ? problem : await refusal(other);
  };
  return {
    reach,
    capabilities: (node, signal) => readCapabilities(call, node, signal),
    properties: (node, signal) => readPropertiesOf(call, node, signal),
    train: (node, task, signal) =>
      forgetting(
        node,
        async (dialect) => {
          const accept = dialect === "octets" ? "application/octet-stream" : "application/json";
          const answer = await ask(node, { operation: "train", task, dialect, accept }, signal);
          const isOctets = String(answer.headers["content-type"] ?? "").startsWith("application/octet-stream");
          const own = blobs.of(node.tenantId, task.origin);
          const most = await mostBytesOf(blobs, task.parameters);
          return isOctets ? keepOctets(own, answer, { digestOf, most }) : keepJson(own, answer, most);
        },
        signal,
      ),
    closeRound: async (node, roundId, signal) => {
      // Participants of other kinds have no such route.
      if ((await reach(node, signal)) !== "octets") return;
      const path = `/v1/rounds/${encodeURIComponent(roundId)}/close`;
      await readAnswer(await call(node, { method: "POST", path }, signal), JSON_BYTES_MAX);
    },
    evaluate: (node, task, signal) =>
      forgetting(
        node,
        async (dialect) => {
          const answer = await ask(node, { operation: "evaluate", task, dialect, accept: "application/json" }, signal);
          return readEvaluation(await readJson(answer));
        },
        signal,
      ),
    aggregate: (node, list, signal) =>
      forgetting(
        node,
        async (dialect) => {
          const files = await Promise.all(list.map((sha256) => requireBlob(blobs.find, sha256)));
          const body = jsonWithFiles(methodOf("aggregate", dialect), { parameters_list: files });
          const path = dialect === "call" ? "/call" : "/aggregate";
          const answer = await call(node, { method: "POST", path, headers: { accept: "application/json" }, body }, signal);
          if (answer.status !== 200) throw await refusal(answer);
          return (await keepJson(blobs.of(node.tenantId), answer)).blob;
        },
        signal,
      ),
  };
}

/** Reads the fields of an evaluation's answer. */
export function readEvaluation({ accuracy, num_samples: samples, metrics: given }: Readonly<Record<string, unknown>>): Evaluation {
  const found = asNumber(accuracy);
  if (found === undefined) throw new ParticipantProblem("its answer has no accuracy", { again: false });
  // Accuracy and loss come first, because there is a limit.
  const { loss } = Object(given) as { loss?: unknown };
  const metrics = readMetrics(Object.assign({ accuracy: found, loss }, given, { accuracy: found }));
  return { accuracy: found, loss: asNumber(loss), samples: readSamples(samples), metrics };
}

interface ParticipantCall {
  readonly operation: "train" | "evaluate";
  readonly task: ParticipantTask;
  readonly dialect: Dialect;
  readonly accept: string;
}

async function requestOf(blobs: BlobFolder, { operation, task, dialect, accept }: ParticipantCall): Promise<Parameters<CallNode>[1]> {
  const fields = fieldsOf(task, dialect);
  const header = dialect === "octets" ? trainHeader(task) : undefined;
  const asOctets = header !== undefined;
  const body = asOctets ? await octetBody(blobs, task) : await jsonBody(blobs, { ...fields, ...methodOf(operation, dialect) }, task);
  const path = dialect === "call" ? "/call" : `${dialect === "octets" ? "/v1" : ""}/${operation}`;
  const headers = {
    accept,
    // The node's log names the federation and the round.
    "x-request-id": task.key.replace(/[^\w.-]/g, "-").slice(0, REQUEST_ID_CHARACTERS_MAX),
    ...(operation === "train" ? { "idempotency-key": task.key } : {}),
    ...(asOctets ? { "x-train-config": header } : {}),
  };
  return { method: "POST", path, headers, body, onProgress: dialect === "octets" ? task.onProgress : undefined };
}

/** The other fields of an octet body as a header; undefined if they do not fit. */
export function trainHeader(task: ParticipantTask): string | undefined {
  return configHeader(fieldsOf(task, "octets"));
}

const methodOf = (operation: string, dialect: Dialect) => (dialect === "call" ? { method: operation } : {});

/** The fields beside the parameters. Other participants receive only the fields of their protocol. */
export function fieldsOf(task: ParticipantTask, dialect: Dialect): Record<string, unknown> {
  if (dialect === "call") return {};
  const dataset = { dataset: task.dataset ?? null };
  if (dialect === "train") return dataset;
  return { ...dataset, config: task.config, format: "safetensors", round_id: task.roundId, client_id: task.clientId };
}

/** Parameters as an octet body. */
export async function octetBody(blobs: BlobFolder, { parameters }: Pick<ParticipantTask, "parameters">): Promise<CallBody> {
  const type = "application/octet-stream";
  if (parameters === "") return { type, bytes: 0, sha256: hash("sha256", "", "hex"), content: new Uint8Array(0) };
  const found = await blobs.find(parameters);
  if (!found) throw new Error(`the parameters ${parameters} are not in the blob folder any more`);
  return { type, bytes: found.bytes, sha256: parameters, content: { path: found.path } };
}

/** Fields and parameters as a JSON body. */
export async function jsonBody(blobs: BlobFolder, fields: object, { parameters }: Pick<ParticipantTask, "parameters">): Promise<CallBody> {
  if (parameters === "") return asJson({ ...fields, parameters: null });
  return jsonWithFiles(fields, { parameters: await requireBlob(blobs.find, parameters) });
}

/** A value as a JSON body. */
export function asJson(value: object): CallBody {
  const content = Buffer.from(JSON.stringify(value));
  return { type: "application/json", bytes: content.byteLength, sha256: hash("sha256", content, "hex"), content };
}

async function keepOctets(
  blobs: BlobFolder,
  answer: NodeAnswer,
  { digestOf, most }: { digestOf: DigestUpdate; most: number | undefined },
): Promise<TrainedUpdate> {
  const { num_samples: samples, metrics, sha256: announced } = parseObject(String(answer.headers["x-result"] ?? "{}"));
  const length = answer.headers["content-length"];
  const size = length === undefined ? undefined : Number(length);
  const digest = digestOf(size);
  // Room is taken as bytes arrive: a size that is only announced would take it from all federations of the organization.
  const update = boundedUpdate(wholeBody(answer), { most, announced: size });
  const { sha256, bytes } = await blobs.keep(gathered(update, PIECE_BYTES), { digest });
  if (typeof announced === "string" && announced !== sha256)
    throw new ParticipantProblem("its parameters do not match the SHA-256 that it announced", { again: true });
  return { blob: sha256, bytes, samples: readSamples(samples), metrics: readMetrics(metrics), layout: digest.layout() };
}

async function keepJson(blobs: BlobFolder, answer: NodeAnswer, most?: number): Promise<TrainedUpdate> {
  const reader = createParametersReader();
  const { sha256, bytes } = await blobs.keep(boundedUpdate(reader.bytes(wholeBody(answer)), { most }));
  const { num_samples: samples, metrics } = reader.fields();
  return { blob: sha256, bytes, samples: readSamples(samples), metrics: readMetrics(metrics) };
}

async function readJson(answer: NodeAnswer): Promise<Record<string, unknown>> {
  return parseObject((await readAnswer(answer, JSON_BYTES_MAX)).toString("utf8"));
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch (cause) {
    throw new ParticipantProblem("its answer is not JSON", { again: false, cause });
  }
}

/**
 * The samples that a participant declares, whole and at least 0: they are weights, and one below 0 would take the updates of others out of a mean.
 * Undefined if it declares none.
 */
export function readSamples(declared: unknown): number | undefined {
  const found = asNumber(declared);
  return found === undefined ? undefined : Math.max(0, Math.round(found));
}

/** A finite number; undefined for anything else. */
const asNumber = (value: unknown): number | undefined => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
