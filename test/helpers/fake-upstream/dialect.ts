import type { Failure, FakeUsage, Reply } from "./script.ts";

export type Json = ReturnType<typeof JSON.parse>;

export type FakeOperation = "chat" | "completions" | "embeddings" | "moderations" | "models";

/** What a request asks for, once its dialect has read it. */
export interface Asked {
  readonly operation: FakeOperation;
  readonly model: string;
  readonly stream: boolean;
  readonly body: Json;
}

/** A piece of a stream; only frames with content count for "after so many frames". */
export interface Frame {
  readonly bytes: Buffer;
  readonly content: boolean;
}

export interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** How one provider words requests and answers. */
export interface Dialect {
  readonly streamType: string;
  /** Undefined: there is nothing under this path. */
  read(path: string, body: Json): Asked | undefined;
  whole(reply: Reply, asked: Asked): unknown;
  frames(reply: Reply, asked: Asked): readonly Frame[];
  refusal(failure: Failure): Refusal;
  /** The same inside a stream. */
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

/** A vector that tells its input apart from others; not of length 1, so that who normalises is seen. */
export function vectorOf(position: number, dimensions: number): number[] {
  return Array.from({ length: dimensions }, (_, index) => Math.fround(Math.sin(position * 31 + index + 1)));
}

/** The place of an input among all of a caller's: as its text says it ("input 137"), for callers that split them; else its own. */
export function placeOf(text: unknown, index: number): number {
  const named = /^input (\d+)$/.exec(String(text))?.[1];
  return named === undefined ? index : Number(named);
}

export const textOf = ({ pieces }: Reply): string => pieces.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
export const reasoningOf = ({ pieces }: Reply): string => pieces.map((piece) => (piece.type === "reasoning" ? piece.text : "")).join("");
export const argumentsOf = (fragments: readonly string[]): Json => JSON.parse(fragments.join("") || "{}");

/** Every dialect's words for one failure: status and text differ, the meaning does not. */
export type FailureTable = Readonly<Record<Failure, readonly [status: number, word: string, message: string]>>;
