import { abortSignalOf } from "../../../common/cancel.ts";
import { type Clock, pause } from "../../../common/clock.ts";
import { asAppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import { type NanoUsd, nanoUsd } from "../../../common/money.ts";
import type { Random } from "../../../common/random.ts";
import type { Inference } from "../../calls/create.ts";
import { GATEWAY_ITEMS, type Piece, piecesOfChoice, piecesOfPart } from "../../calls/dialects/pieces.ts";
import { ResponseOutput } from "../../calls/dialects/responses/output.ts";
import type { Bill } from "../../calls/inference/bill.ts";
import type { DeliveredPart } from "../../calls/inference/delivery.ts";
import type { InferenceCall, InferenceResult } from "../../calls/inference/inference-call.ts";
import { summedUsage } from "../../credit/pricing/summed-usage.ts";
import { NO_USAGE } from "../../credit/pricing/usage.ts";
import type { ResponsesRequest } from "../../schemas/calls/responses.ts";
import type { ChatAnswer, Fields } from "../../upstream/providers/provider.ts";
import { chatJobOf } from "./response-turn.ts";
import { fewAtOnce } from "./tools/few-at-once.ts";
import type { GatewayTool } from "./tools/gateway-tool.ts";
import type { OpenTools } from "./tools/open-tools.ts";
import { OwnCalls } from "./tools/own-calls.ts";

export interface LoopDeps {
  readonly inference: Pick<Inference, "run">;
  readonly clock: Clock;
  readonly random: Random;
}

/** The answer of several rounds. */
export interface LoopedAnswer {
  readonly pieces: readonly Piece[];
  readonly finishReason: string;
}

type LoopCall = Omit<InferenceCall<unknown>, "job" | "review" | "findAnswer">;
type CallPiece = Extract<Piece, { type: "call" }>;
type Part = Exclude<DeliveredPart, { type: "settled" }>;
interface ReadRound {
  readonly shown: readonly Piece[];
  readonly calls: readonly CallPiece[];
  readonly isLast: boolean;
  readonly finishReason: string;
}
type Finish = Extract<Part, { type: "finish" }>;

/** The model's last round gets no tools: it must answer. */
const ROUNDS_MAX = 10;
const TOOL_CALLS_MAX = 32;
const TOOLS_AT_ONCE = 4;
/** Codes of a control plane that is unavailable or overloaded. */
const PASSING: ReadonlySet<string> = new Set(["UNAVAILABLE", "DB_TIMEOUT"]);
const ATTEMPTS = 3;
const BACKGROUND_ATTEMPTS = 10;
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 5000;
const CUT_OFF: readonly string[] = ["length", "content_filter"];

/**
 * Calls a model until it has an answer, and runs the gateway's tools that it calls in between. Each round is a call of its own: reserved,
 * billed and in the log. A round that also calls functions of the caller ends the loop: the caller answers them first.
 */
export function loopedCall(deps: LoopDeps, open: OpenTools, items: readonly Fields[]) {
  return async (call: LoopCall): Promise<InferenceResult<LoopedAnswer>> => {
    const loop = new ToolLoop(deps, open, { call, items });
    return open.asked.stream === true ? await loop.stream() : await loop.whole();
  };
}

class ToolLoop {
  readonly #deps: LoopDeps;
  readonly #open: OpenTools;
  readonly #call: LoopCall;
  /** The lists of MCP tools that a stream has not sent yet. */
  readonly #unlisted: Fields[];
  #items: readonly Fields[];
  #round = 0;
  #toolCalls = 0;
  #isFinal = false;
  /** Positions of the caller's function calls in the whole answer. */
  #callsBefore = 0;
  #bill: Bill | undefined;

  constructor(deps: LoopDeps, open: OpenTools, { call, items }: { call: LoopCall; items: readonly Fields[] }) {
    this.#deps = deps;
    this.#open = open;
    this.#call = call;
    this.#items = items;
    this.#unlisted = [...open.listed];
  }

  async whole(): Promise<InferenceResult<LoopedAnswer>> {
    const pieces: Piece[] = this.#open.listed.map((item) => ({ type: "item", item }));
    for (;;) {
      const result = await this.#ask();
      if (result.type !== "answer") throw new Error("a round was streamed that should be whole");
      this.#add(result.bill);
      const [choice] = result.answer.choices;
      const own = choice ? piecesOfChoice(choice) : [];
      const round = this.#readRound(own, choice?.finishReason);
      pieces.push(...round.shown);
      const made = round.calls.length > 0 ? await this.#runTools(own, round.calls) : [];
      pieces.push(...made.map((item): Piece => ({ type: "item", item })));
      if (round.isLast) {
        const answer = { pieces, finishReason: round.finishReason };
        return { type: "answer", head: result.head, answer, bill: this.#bill ?? result.bill };
      }
    }
  }

  async stream(): Promise<InferenceResult<LoopedAnswer>> {
    const first = await this.#ask();
    return { type: "stream", head: first.head, contentType: undefined, parts: this.#parts(first) };
  }

  async *#parts(first: InferenceResult<ChatAnswer>): AsyncGenerator<DeliveredPart> {
    for (let result = first; ; result = await this.#ask()) {
      const { pieces, finish } = yield* this.#streamedRound(result);
      const round = this.#readRound(pieces, finish?.reason);
      const made = round.calls.length > 0 ? await this.#runTools(pieces, round.calls) : [];
      yield* made.map(itemPart);
      if (!round.isLast) continue;
      if (finish) yield { ...finish, reason: round.finishReason };
      if (this.#bill) yield { type: "settled", bill: this.#bill };
      return;
    }
  }

  /** Sends on what the caller sees of a round; returns the whole round. */
  async *#streamedRound(
    result: InferenceResult<ChatAnswer>,
  ): AsyncGenerator<Part, { pieces: readonly Piece[]; finish: Finish | undefined }> {
    const pieces: Piece[] = [];
    const filter = new OwnCalls(this.#open.tools, this.#callsBefore);
    let finish: Finish | undefined;
    for await (const part of roundParts(result)) {
      // Not before the round's first part: a round that was never read is never settled.
      yield* this.#unlisted.splice(0).map(itemPart);
      if (part.type === "settled") this.#add(part.bill);
      else if (part.type === "finish") finish = part;
      else {
        pieces.push(...piecesOfPart(part));
        const shown = filter.shown(part);
        if (shown) yield shown;
      }
    }
    return { pieces: joinedCalls(pieces), finish };
  }

  async #ask(): Promise<InferenceResult<ChatAnswer>> {
    const round = this.#round++;
    const { callId, onceFor } = this.#call;
    this.#isFinal = round >= ROUNDS_MAX - 1 || this.#toolCalls >= this.#toolCallsMax;
    const { tool_choice: given, max_output_tokens: most } = this.#open.asked;
    const choice = this.#isFinal ? "none" : round === 0 ? given : laterChoice(given);
    const limit = most === undefined ? {} : { max_output_tokens: most - this.#outputUsed };
    const asked = { ...this.#open.asked, tool_choice: choice, ...limit } as ResponsesRequest;
    const once = onceFor === undefined ? undefined : `${onceFor}.${round}`;
    const call = { ...this.#call, onceFor: once, job: chatJobOf(asked, this.#items) };
    return await this.#passing(round, (attempt) =>
      this.#deps.inference.run({ ...call, callId: round + attempt === 0 ? callId : newId("call", this.#deps) }),
    );
  }

  /** Makes a round again after an error that may pass, so that the rounds and tools before it, which are billed, are not lost. */
  async #passing<Result>(round: number, ask: (attempt: number) => Promise<Result>): Promise<Result> {
    const { onceFor, signal } = this.#call;
    // A caller that waits repeats a first round itself; for background work no caller waits.
    const attemptsMax = onceFor !== undefined ? BACKGROUND_ATTEMPTS : round === 0 ? 1 : ATTEMPTS;
    for (let attempt = 0; ; attempt++) {
      try {
        return await ask(attempt);
      } catch (thrown) {
        if (attempt + 1 >= attemptsMax || !PASSING.has(asAppError(thrown).code)) throw thrown;
        await pause(this.#deps.clock, Math.min(PAUSE_MS * 2 ** attempt, PAUSE_MS_MAX), signal);
        if (signal.aborted) throw thrown;
      }
    }
  }

  #readRound(pieces: readonly Piece[], finishReason = "stop"): ReadRound {
    const isOwn = (piece: Piece) => piece.type === "call" && this.#open.tools.has(piece.name ?? "");
    const calls = pieces.filter(isOwn) as CallPiece[];
    const others: readonly Piece[] = pieces.filter((piece) => !isOwn(piece));
    const shown = others.map((piece) => (piece.type === "call" ? { ...piece, index: this.#callsBefore++ } : piece));
    const isMixed = others.some(({ type }) => type === "call");
    // The arguments of an answer that was cut off are not whole; in the last round the model had no choice of tools.
    if (this.#isFinal || CUT_OFF.includes(finishReason)) return { shown, calls: [], isLast: true, finishReason };
    // Nothing is left for the answer that would need the tools' results.
    if (calls.length > 0 && !isMixed && this.#isUsedUp) return { shown, calls: [], isLast: true, finishReason: "length" };
    return { shown, calls, isLast: calls.length === 0 || isMixed, finishReason };
  }

  get #isUsedUp(): boolean {
    return this.#outputUsed >= (this.#open.asked.max_output_tokens ?? Number.POSITIVE_INFINITY);
  }

  /** Tokens of all rounds: the caller's limit is for the whole response. */
  get #outputUsed(): number {
    const { output, reasoning, audioOutput } = this.#bill?.usage ?? NO_USAGE;
    return output + reasoning + audioOutput;
  }

  /** Runs the tools of a round, adds the round to the conversation, and returns the items of the response. */
  async #runTools(pieces: readonly Piece[], calls: readonly CallPiece[]): Promise<Fields[]> {
    const { caller, signal, onceFor, callId } = this.#call;
    const named = calls.map((call, index) => ({ ...call, id: call.id ?? `call_${callId}_${this.#round}_${index}` }));
    const left = this.#toolCallsMax - this.#toolCalls;
    const results = await fewAtOnce(TOOLS_AT_ONCE, named, async (call, index): Promise<{ id: string; item?: Fields; output: string }> => {
      if (index >= left) return { id: call.id, output: "Not run: the limit of tool calls is reached." };
      const once = onceFor === undefined ? undefined : `${onceFor}.${this.#round}.${index}`;
      const tool = this.#open.tools.get(call.name ?? "") as GatewayTool;
      return {
        id: call.id,
        ...(await tool.run(call.arguments, {
          caller,
          signal: abortSignalOf(signal),
          onceFor: once,
          onBill: (cost) => this.#addCost(cost),
        })),
      };
    });
    this.#toolCalls += calls.length;
    const said = new ResponseOutput(`round${this.#round}`);
    const ids = new Map(calls.map((call, index) => [call, named[index]]));
    for (const piece of pieces) said.take(ids.get(piece as CallPiece) ?? piece);
    said.close();
    const outputs = results.map(({ id, output }) => ({ type: "function_call_output", call_id: id, output }));
    this.#items = [...this.#items, ...said.items(), ...outputs];
    return results.flatMap(({ item }): Fields[] => (item ? [item] : []));
  }

  get #toolCallsMax(): number {
    return Math.min(this.#open.asked.max_tool_calls ?? TOOL_CALLS_MAX, TOOL_CALLS_MAX);
  }

  /** What tools cost is part of the response's bill; their tokens are not tokens of its model. */
  #addCost(cost: NanoUsd): void {
    const { usage = NO_USAGE, cost: before = 0n } = this.#bill ?? {};
    this.#bill = { usage, cost: nanoUsd(before + cost) };
  }

  #add(bill: Bill): void {
    const before = this.#bill;
    this.#bill = before ? { usage: summedUsage(before.usage, bill.usage), cost: nanoUsd(before.cost + bill.cost) } : bill;
  }
}

/**
 * What the caller requires is required once: otherwise the model could never answer. What it forbids, by `none` or a list of allowed tools,
 * is forbidden in every round.
 */
function laterChoice(choice: ResponsesRequest["tool_choice"]): ResponsesRequest["tool_choice"] {
  if (typeof choice === "object" && choice["type"] === "allowed_tools") return { ...choice, mode: "auto" };
  return choice === "none" ? choice : "auto";
}

/** The parts of a round; an answer from the cache may be whole. */
async function* roundParts(result: InferenceResult<ChatAnswer>): AsyncGenerator<DeliveredPart> {
  if (result.type === "stream") {
    for await (const part of result.parts) if (part.type !== "bytes") yield part;
    return;
  }
  const [choice] = result.answer.choices;
  const { content, ...fields } = choice?.message ?? {};
  if (typeof content === "string") yield { type: "text-delta", choice: 0, text: content };
  yield { type: "other-delta", choice: 0, fields, text: "" };
  yield { type: "finish", choice: 0, reason: choice?.finishReason ?? "stop" };
  yield { type: "settled", bill: result.bill };
}

function itemPart(item: Fields): Part {
  return { type: "other-delta", choice: 0, fields: { [GATEWAY_ITEMS]: [item] }, text: "" };
}

/** Calls of a stream, each in one piece. */
function joinedCalls(pieces: readonly Piece[]): readonly Piece[] {
  const calls = new Map<number, CallPiece>();
  for (const piece of pieces) {
    if (piece.type !== "call") continue;
    const known = calls.get(piece.index);
    calls.set(piece.index, known ? { ...known, arguments: known.arguments + piece.arguments } : piece);
  }
  return [...pieces.filter(({ type }) => type !== "call"), ...calls.values()];
}
