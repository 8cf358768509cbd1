import type { Failure, FakeUsage, Reply } from "./script.ts";

export type Json = ReturnType<typeof JSON.parse>;

export type FakeOperation = "chat" | "completions" | "embeddings" | "moderations" | "models";

/** A request after parsing by its dialect. */
export interface Asked {
  readonly operation: FakeOperation;
  readonly model: string;
  readonly stream: boolean;
  readonly body: Json;
}

/** A frame of a stream; only frames with content are counted by the `after…` fields of a script. */
export interface Frame {
  readonly bytes: Buffer;
  readonly content: boolean;
}

export interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Request and response formats of one provider. */
export interface Dialect {
  readonly streamType: string;
  /** Undefined if the path is unknown. */
  read(path: string, body: Json): Asked | undefined;
  whole(reply: Reply, asked: Asked): unknown;
  frames(reply: Reply, asked: Asked): readonly Frame[];
  refusal(failure: Failure): Refusal;
  /** The same failure inside a stream. */
  failureFrame(failure: Failure): Buffer;
  /** Name of the tool that the request forces. */
  forcedTool(body: Json): string | undefined;
  other?(asked: Asked): unknown;
}

export const frame = (text: string, content = false): Frame => ({ bytes: Buffer.from(text), content });
export const sse = (data: unknown, content = false): Frame => frame(`data: ${JSON.stringify(data)}\n\n`, content);
export const namedSse = (event: string, data: unknown, content = false): Frame =>
  frame(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`, content);

export const promptTokens = ({ input, cacheRead = 0, cacheWrite = 0 }: FakeUsage): number => input + cacheRead + cacheWrite;

/** A vector that is distinct for each input; its length is not 1, so that tests notice normalization. */
export function vectorOf(position: number, dimensions: number): number[] {
  return Array.from({ length: dimensions }, (_, index) => Math.fround(Math.sin(position * 31 + index + 1)));
}

/** The position of an input: from its text ("input 137"), for callers that split inputs; else its index. */
export function placeOf(text: unknown, index: number): number {
  const named = /^input (\d+)$/.exec(String(text))?.[1];
  return named === undefined ? index : Number(named);
}

export const textOf = ({ pieces }: Reply): string => pieces.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
export const reasoningOf = ({ pieces }: Reply): string => pieces.map((piece) => (piece.type === "reasoning" ? piece.text : "")).join("");
export const argumentsOf = (fragments: readonly string[]): Json => JSON.parse(fragments.join("") || "{}");

/** One failure in every dialect: status and text differ, the meaning does not. */
export type FailureTable = Readonly<Record<Failure, readonly [status: number, word: string, message: string]>>;
