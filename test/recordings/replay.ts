import { FEE_NAMES } from "../../common/fees.ts";
import { kindOfPrefix } from "../../common/providers/shared/registry.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../../gateway-edge/server/http/testing/edge-fixture.ts";
import { readAwsEventStream } from "../../gateway-edge/upstream/providers/shared/aws-event-stream.ts";
import type { Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import { asMessages, asResponses } from "./asks.ts";
import {
  anthropicSaid,
  bedrockSaid,
  cohereSaid,
  eventsOf,
  type Fields,
  fieldsOf,
  geminiSaid,
  listOf,
  ollamaSaid,
  openAiSaid,
  type Reader,
  responsesSaid,
  type Said,
} from "./said.ts";

/** An answer that a real provider gave, and the question as an OpenAI request. */
export interface Recording {
  readonly id: string;
  /** LiteLLM's prefix. */
  readonly provider: string;
  readonly op: "chat" | "embeddings" | "completions" | "responses" | "rerank";
  readonly model: string;
  readonly stream: boolean;
  readonly status: number;
  readonly type: string | null;
  readonly body?: string;
  readonly body64?: string;
  readonly ask: Fields;
  /** As the provider got it, where that was recorded. */
  readonly request?: Fields;
}

/** One comparison: a recording by one API of the gateway. */
export interface Comparison {
  readonly recording: Recording;
  readonly api: string;
  /** Undefined: equal. */
  readonly difference: string | undefined;
}

/** Answers every recording through the gateway by all of its APIs. One at a time: the upstream answers with the current one. */
export async function* replayAll(recordings: readonly Recording[]): AsyncGenerator<Comparison> {
  const control = new FakeControl();
  control.balance = 10n ** 15n;
  control.deployments = recordings.map(deploymentOf);
  let current: Recording | undefined;
  const edge = await startEdge(
    control,
    {
      send: async () => {
        if (!current) throw new Error("no recording is replayed");
        return { status: current.status, headers: headersOf(current), body: inPieces(bytesOf(current)) };
      },
    },
    { JSON_BODY_BYTES_MAX: "100000000" },
  );
  const { secret } = control.addKey();
  try {
    for (const recording of recordings) {
      current = recording;
      for (const api of APIS[recording.op]) {
        yield { recording, api: api.name, difference: await differenceAt({ edge, secret, recording, api }) };
      }
    }
  } finally {
    await edge.close();
  }
}

const PARAMS = {
  aws_region_name: "us-east-1",
  aws_access_key_id: "id",
  aws_secret_access_key: "key",
  vertex_project: "project",
  api_version: "2024-10-21",
};

/** Everything has a price, so that nothing is refused. */
const PRICES = {
  input: 1_000_000_000n,
  output: 2_000_000_000n,
  webSearch: 10_000_000_000_000n,
  fees: Object.fromEntries(FEE_NAMES.map((name) => [name, 2_000_000_000n])),
};

function deploymentOf({ id, provider, op, model }: Recording): Deployment {
  const kind = kindOfPrefix(provider)?.kind ?? "openai_compatible";
  const hasOwnUrl = kind === "azure" || kind === "openai_compatible";
  const fields = {
    modelName: id,
    providerKind: kind,
    inferenceModelId: model,
    apiKey: "key",
    params: JSON.stringify(PARAMS),
    // A chat recording must be asked for as a chat, whatever API of the gateway is used.
    info: JSON.stringify({ supports_responses: op === "responses" }),
    ...(hasOwnUrl && { baseUrl: "https://upstream.test" }),
  };
  return { ...deployment(fields, PRICES), id: `dep_${id}` };
}

interface Api {
  readonly name: string;
  readonly path: string;
  body(recording: Recording): Fields;
  readonly reader: Reader | undefined;
}

const chat: Api = { name: "chat", path: "/v1/chat/completions", body: ({ ask }) => ({ ...ask, drop_params: true }), reader: openAiSaid };
const messages: Api = {
  name: "messages",
  path: "/v1/messages",
  body: ({ ask, provider, request }) => (provider === "anthropic" && request ? request : { ...asMessages(ask), drop_params: true }),
  reader: anthropicSaid,
};
const responses: Api = {
  name: "responses",
  path: "/v1/responses",
  body: ({ ask, op }) => (op === "responses" ? ask : { ...asResponses(ask), drop_params: true }),
  reader: responsesSaid,
};
const plain = (name: string, path: string): Api => ({ name, path, body: ({ ask }) => ask, reader: undefined });
const APIS: Readonly<Record<Recording["op"], readonly Api[]>> = {
  chat: [chat, messages, responses],
  responses: [responses],
  completions: [plain("completions", "/v1/completions")],
  embeddings: [plain("embeddings", "/v1/embeddings")],
  rerank: [plain("rerank", "/v1/rerank")],
};

const FINISH_NAMES: Readonly<Record<string, string>> = { 1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY" };

function bytesOf({ body = "", body64 }: Recording): Buffer {
  if (body64 !== undefined) return Buffer.from(body64, "base64");
  // Some clients of Vertex ask for numbers in place of names; the gateway does not.
  return Buffer.from(
    body.replace(
      /("finishReason": ?)(\d)/g,
      (all, name: string, number: string) => `${name}${JSON.stringify(FINISH_NAMES[number] ?? all)}`,
    ),
  );
}

const PIECE_BYTES = 1000;

async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) yield bytes.subarray(start, start + PIECE_BYTES);
}

function headersOf({ type }: Recording): Record<string, string> {
  return type === null ? {} : { "content-type": type };
}

interface Replay {
  readonly edge: TestEdge;
  readonly secret: string;
  readonly recording: Recording;
  readonly api: Api;
}

async function differenceAt({ edge, secret, recording, api }: Replay): Promise<string | undefined> {
  const response = await edge.post(api.path, askedOf(recording, api), { authorization: `Bearer ${secret}` });
  const text = await response.text();
  if (api === messages && isUnpriced(recording)) return response.status === 400 && /cannot bill/.test(text) ? undefined : "not refused";
  if (recording.status > 299 || isInnerFailure(recording)) {
    return response.status > 299 || /"error"/.test(text) ? undefined : `${response.status} for a recorded failure`;
  }
  if (response.status !== 200) return `${response.status} ${text.slice(0, 300)}`;
  if (!api.reader) return undefined;
  const expected = await saidIn(recording);
  const billed = [...edge.control.settled.values()].at(-1)?.usage;
  const isNative = recording.provider === "anthropic" && api === messages;
  return (
    differenceOf(expected, api.reader(text, recording.stream)) ??
    billDifference(expected, billed) ??
    (isNative ? messageDifference(recording, text) : undefined)
  );
}

function askedOf(recording: Recording, api: Api): Fields {
  const asked = { ...api.body(recording), model: recording.id, num_retries: 0, stream: recording.stream || undefined };
  return recording.stream && api === chat ? { ...asked, stream_options: { include_usage: true } } : asked;
}

/** What the gateway refuses because the provider bills it at the price of another model. */
function isUnpriced({ provider, request }: Recording): boolean {
  return provider === "anthropic" && listOf(request?.["tools"]).some(({ type }) => String(type).startsWith("advisor_"));
}

/** An error, or nothing of the API's format, with the status of a success. */
function isInnerFailure({ body, stream, provider, op }: Recording): boolean {
  if (body === undefined || provider === "bedrock" || provider === "ollama_chat") return false;
  const objects = stream ? eventsOf(body) : [fieldsOf(JSON.parse(body))];
  const isOther = op === "chat" && !stream && !(provider in READERS) && objects[0]?.["choices"] === undefined;
  return isOther || objects.some(({ type, error }) => type === "error" || (error !== undefined && error !== null));
}

const READERS: Readonly<Record<string, Reader>> = {
  anthropic: anthropicSaid,
  gemini: geminiSaid,
  vertex_ai: geminiSaid,
  cohere_chat: cohereSaid,
  ollama_chat: ollamaSaid,
};

async function saidIn(recording: Recording): Promise<Said> {
  const { provider, op, stream, body = "" } = recording;
  if (op === "responses") return responsesSaid(body, stream);
  if (provider !== "bedrock") return (READERS[provider] ?? openAiSaid)(body, stream);
  if (!stream) return bedrockSaid(fieldsOf(JSON.parse(bytesOf(recording).toString("utf8"))));
  const events: [string | undefined, Fields][] = [];
  for await (const { event, data } of readAwsEventStream(inPieces(bytesOf(recording)))) events.push([event, fieldsOf(JSON.parse(data))]);
  return bedrockSaid(events);
}

function differenceOf(expected: Said, said: Said): string | undefined {
  if (said.text !== expected.text) return `text ${shown(said.text)}, recorded ${shown(expected.text)}`;
  const [calls, recorded] = [JSON.stringify(said.calls), JSON.stringify(expected.calls)];
  return calls === recorded ? undefined : `tool calls ${shown(calls)}, recorded ${shown(recorded)}`;
}

function shown(text: string): string {
  return text.length > 120 ? `${JSON.stringify(text.slice(0, 120))}… (${text.length})` : JSON.stringify(text);
}

type Billed = NonNullable<NonNullable<ReturnType<FakeControl["settled"]["get"]>>["usage"]>;

function billDifference({ usage }: Said, billed: Billed | undefined): string | undefined {
  if (!usage || usage.input + usage.output === 0) return undefined;
  const output = Number((billed?.output ?? 0n) + (billed?.reasoning ?? 0n) + (billed?.audioOutput ?? 0n));
  const input = Number(billed?.total ?? 0n) - output;
  return input === usage.input && output === usage.output
    ? undefined
    : `billed ${input} in and ${output} out (${billed?.source}), recorded ${usage.input} and ${usage.output}`;
}

/** Before Anthropic itself nothing may differ but the message's id and model, and the cost in a stream. */
function messageDifference({ body = "", stream }: Recording, text: string): string | undefined {
  const [seen, recorded] = stream
    ? [eventsOf(text), eventsOf(body)].map((events) => events.map(anonymous))
    : [wholeOf(text), wholeOf(body)];
  return JSON.stringify(seen) === JSON.stringify(recorded) ? undefined : firstDifference(seen, recorded);
}

function wholeOf(body: string): unknown[] {
  return [anonymous(fieldsOf(JSON.parse(body)))];
}

function anonymous(fields: Fields): Fields {
  const { message, usage, ...rest } = fields;
  const { cost_nano: _cost, ...counts } = fieldsOf(usage);
  return {
    ...rest,
    ...(rest["id"] === undefined ? {} : { id: "", model: "" }),
    ...(message === undefined ? {} : { message: { ...fieldsOf(message), id: "", model: "" } }),
    ...(usage === undefined ? {} : { usage: counts }),
  };
}

function firstDifference(seen: unknown, recorded: unknown): string {
  const [left, right] = [JSON.stringify(seen), JSON.stringify(recorded)];
  let at = 0;
  while (left[at] === right[at]) at++;
  return `message ${shown(left.slice(Math.max(0, at - 40), at + 60))}, recorded ${shown(right.slice(Math.max(0, at - 40), at + 60))}`;
}
