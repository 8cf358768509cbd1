import type { Clock } from "../../../common/clock.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { TrainerError } from "../../errors.ts";
import { configHeader } from "../../operations/octet-headers.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import type { TrainingClient } from "../control.ts";
import { type CallNode, readAnswer } from "../participants/node-call.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { asJson, jsonBody, octetBody, type Participants } from "../participants/participants.ts";
import { createUploadLimit } from "./call-limits.ts";
import { recentTimeouts, type TimeLimit, timeLimit } from "./time-limits.ts";

/** One call of a published model. */
export interface FunctionCall {
  /** Ids of the participants that serve the model. */
  readonly participants: readonly string[];
  /** SHA-256 of the published round's parameters. */
  readonly blob: string;
  readonly input: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** Which participants of a federation can serve its model. */
export interface ServingParticipants {
  readonly servers: readonly string[];
  readonly cannot: readonly { readonly participant: string; readonly reason: string }[];
}

/** Calls to the serve functions of participants. */
export interface FunctionCalls {
  serve(federationId: string, call: FunctionCall, signal: AbortSignal): Promise<string>;
  /** Asks these participants, or all, whether they serve. */
  servers(federationId: string, asked: readonly string[] | undefined, signal: AbortSignal): Promise<ServingParticipants>;
}

/** Answers that another node may not give: this one is busy, gives no access or has no function. */
const ELSEWHERE = new Set([401, 403, 429, 501, 502, 503, 504]);
const ANSWER_BYTES_MAX = 1024 * 1024;
const SERVE_MS_MAX = 60_000;
/** While another node is left, one gets half of the time that is left, and at least this. */
const NODE_MS_MIN = 10_000;
/** Few different limits, because timers of equal ones are shared. */
const NODE_MS_STEP = 5000;
const CONTROL_MS = 5000;
/** Participants and their credentials are read anew after this time. */
const KNOWN_MS = 5000;
const KNOWN_MAX = 1000;
const PROBES_MAX = 64;
const NO_ADDRESS = "it joined with a token and asks for work while its federation trains; only a participant with an address can be called";

type Deps = {
  readonly call: CallNode;
  readonly participants: Pick<Participants, "capabilities">;
  readonly blobs: BlobFolder;
  readonly client: Pick<TrainingClient, "getWork">;
  readonly clock: Clock;
};

/** Creates calls to serve functions. Nodes of a model take turns; one that cannot answer is followed by the next. */
export function createFunctionCalls(deps: Deps): FunctionCalls {
  const participantsOf = knownParticipants(deps);
  const ask = oneNode(deps);
  const slow = recentTimeouts(deps);
  let turn = 0;
  return {
    serve: async (federationId, call, signal) => {
      const all = await participantsOf(federationId);
      const able = all.filter(({ id, url }) => url !== "" && call.participants.includes(id));
      const nodes = slow.without(federationId, able);
      const first = ++turn;
      const inTime = timeLimit(deps.clock, SERVE_MS_MAX, signal);
      let last = new TrainerError("BUSY", "none of its participants has an address", AGAIN);
      try {
        for (let index = 0; index < nodes.length && !inTime.isOver(); index++) {
          const node = nodes[(first + index) % nodes.length] as Participant;
          const { output, problem, isLate } = await ask(node, { call, inTime, isLast: index === nodes.length - 1 });
          if (output !== undefined) return output;
          signal.throwIfAborted();
          if (isLate) slow.add(federationId, node);
          last = problem ?? last;
        }
      } finally {
        inTime.clear();
      }
      throw last;
    },
    servers: async (federationId, asked, signal) => {
      const all = await participantsOf(federationId);
      const ids = asked ?? all.map(({ id }) => id).slice(0, PROBES_MAX);
      const problems = await Promise.all(
        ids.map((id) =>
          problemOf(
            deps,
            all.find((one) => one.id === id),
            signal,
          ),
        ),
      );
      return {
        servers: ids.filter((_, index) => problems[index] === undefined),
        cannot: ids.flatMap((participant, index) => {
          const reason = problems[index];
          return reason === undefined ? [] : [{ participant, reason }];
        }),
      };
    },
  };
}

const AGAIN = { retryAfterSeconds: 5 };

type Asked = { readonly call: FunctionCall; readonly inTime: TimeLimit; readonly isLast: boolean };
type Outcome = { readonly output?: string; readonly problem?: TrainerError; readonly isLate?: boolean };

/** Asks one node. Its problem is one that another node may not have; the function's own errors are thrown. */
function oneNode(deps: Deps): (node: Participant, asked: Asked) => Promise<Outcome> {
  const send = withParameters(deps);
  return async (node, { call, inTime, isLast }) => {
    const leftMs = inTime.leftMs();
    const nodeMs = Math.ceil((isLast ? leftMs : Math.max(NODE_MS_MIN, leftMs / 2)) / NODE_MS_STEP) * NODE_MS_STEP;
    const answering = timeLimit(deps.clock, nodeMs, inTime.signal);
    try {
      return { output: await send(node, call, { answering: answering.signal, sending: inTime.signal }) };
    } catch (thrown) {
      if (thrown instanceof TrainerError) throw thrown;
      const isLate = answering.isOver() || inTime.isOver();
      if (isLate) return { isLate, problem: new TrainerError("TIMEOUT", `${node.id} did not answer within ${nodeMs} ms.`) };
      if (!(thrown instanceof ParticipantProblem)) throw thrown;
      return { problem: new TrainerError("BUSY", `${node.id}: ${thrown.message}`, AGAIN) };
    } finally {
      answering.clear();
    }
  };
}

async function problemOf(
  { participants }: Pick<Deps, "participants">,
  node: Participant | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!node) return "the federation has no such participant";
  if (node.url === "") return NO_ADDRESS;
  try {
    const able = await participants.capabilities(node, signal);
    return able.has("serve") ? undefined : "its node has no serve function (capabilities.serve of its /v1/info is not true)";
  } catch (thrown) {
    if (thrown instanceof ParticipantProblem) return thrown.message;
    throw thrown;
  }
}

/** The participants of federations with their credentials. Calls of a published model are many, and the participants hardly change. */
function knownParticipants({ client, clock }: Pick<Deps, "client" | "clock">): (federationId: string) => Promise<readonly Participant[]> {
  const known = new Map<string, { readonly atMs: number; readonly found: Promise<readonly Participant[]> }>();
  const ask = async (federationId: string): Promise<readonly Participant[]> => {
    try {
      const { federation } = await client.getWork({ federationId }, { deadlineMs: CONTROL_MS });
      return federation?.participants ?? [];
    } catch (thrown) {
      // A failure is not kept: the next call asks again.
      known.delete(federationId);
      throw thrown;
    }
  };
  return (federationId) => {
    const entry = known.get(federationId);
    if (entry && clock.monotonicMs() - entry.atMs < KNOWN_MS) return entry.found;
    const found = ask(federationId);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(federationId, { atMs: clock.monotonicMs(), found });
    return found;
  };
}

type SendCall = (node: Participant, call: FunctionCall, signal: AbortSignal) => Promise<string>;
/** Parameters need their time, so a node that gets them has all the time of the call. */
type Signals = { readonly answering: AbortSignal; readonly sending: AbortSignal };

/**
 * Names the parameters by their hash and sends them only to a node that does not have them. While they are on their way, other calls to that
 * node wait for them instead of sending them again.
 */
function withParameters({
  call,
  blobs,
  clock,
}: Pick<Deps, "call" | "blobs" | "clock">): (node: Participant, call: FunctionCall, signals: Signals) => Promise<string> {
  const sending = new Map<string, Promise<unknown>>();
  const countUpload = createUploadLimit(clock);
  const post = async (node: Participant, request: Pick<Parameters<CallNode>[1], "headers" | "body">, signal: AbortSignal) => {
    const answer = await call(node, { method: "POST", path: "/v1/serve", ...request }, signal);
    return readOutput(answer.status, (await readAnswer(answer, ANSWER_BYTES_MAX)).toString("utf8"));
  };
  const byHash: SendCall = (node, { blob, input, config }, signal) =>
    post(node, { body: asJson({ parameters_ref: `sha256:${blob}`, input, config }) }, signal);
  const whole: SendCall = async (node, { blob, input, config }, signal) => {
    if (!(await blobs.find(blob)))
      throw new TrainerError("PARAMETERS_UNAVAILABLE", "The coordinator no longer has the parameters of this version.");
    const header = configHeader({ input, config });
    const parameters = { parameters: blob };
    if (header === undefined) return post(node, { body: await jsonBody(blobs, { input, config }, parameters) }, signal);
    const headers = { accept: "application/json", "x-train-config": header };
    return post(node, { headers, body: await octetBody(blobs, parameters) }, signal);
  };
  const sendWhole: SendCall = async (node, given, signal) => {
    const key = `${node.url} ${given.blob}`;
    countUpload(key);
    const running = whole(node, given, signal);
    sending.set(key, running);
    try {
      return await running;
    } catch (thrown) {
      if (!(thrown instanceof MissingParameters)) throw thrown;
      throw new ParticipantProblem("it does not keep the parameters that it was sent", { again: true });
    } finally {
      if (sending.get(key) === running) sending.delete(key);
    }
  };
  /** Undefined if the node does not have the parameters. */
  const ifKept = async (...given: Parameters<SendCall>): Promise<string | undefined> => {
    try {
      return await byHash(...given);
    } catch (thrown) {
      if (!(thrown instanceof MissingParameters)) throw thrown;
      return undefined;
    }
  };
  return async (node, given, signals) => {
    const output = await ifKept(node, given, signals.answering);
    if (output !== undefined) return output;
    const underWay = sending.get(`${node.url} ${given.blob}`);
    if (!underWay) return sendWhole(node, given, signals.sending);
    await Promise.allSettled([underWay]);
    return (await ifKept(node, given, signals.sending)) ?? sendWhole(node, given, signals.sending);
  };
}

/** The node does not have the parameters that a call names. */
class MissingParameters extends Error {}

function readOutput(status: number, text: string): string {
  const { output, error, code } = parsed(text);
  if (status === 200 && typeof output === "string") return output;
  if (status === 404 && code === "BLOB_NOT_FOUND") throw new MissingParameters();
  const said = typeof error === "string" ? `: ${error.slice(0, 500)}` : "";
  if (status === 404 || ELSEWHERE.has(status)) throw new ParticipantProblem(`it answered ${status}${said}`, { again: true });
  if (status >= 400 && status < 500) throw new TrainerError("VALIDATION_ERROR", `The model refused the input${said}`);
  throw new TrainerError("FUNCTION_ERROR", `The model's function failed${said}`);
}

function parsed(text: string): { output?: unknown; error?: unknown; code?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
