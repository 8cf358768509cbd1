/** One thing that a model says, in nobody's dialect; each dialect writes it in its own words. */
export type Piece =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly signature?: string }
  | {
      readonly type: "tool";
      readonly id: string;
      readonly name: string;
      /** JSON text in the pieces in which a stream gives it; none: the model gave no arguments at all. */
      readonly fragments: readonly string[];
      readonly signature?: string;
    };

export type Finish = "stop" | "length" | "tool_calls" | "content_filter" | "malformed";

export interface FakeUsage {
  /** Without what came from or went to a cache. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

export interface Reply {
  readonly pieces: readonly Piece[];
  readonly finish: Finish;
  readonly usage: FakeUsage;
}

/** Failures that every dialect has words for. */
export type Failure = "context" | "policy" | "auth" | "rate-limit" | "server" | "overloaded" | "bad-request";

/** What happens in one attempt. The fields after `reply` say how its bytes go out. */
export interface Step {
  readonly reply?: Reply;
  /** Instead of `reply` once the conversation has the result of a tool in it. */
  readonly afterToolResult?: Reply;
  /** The reply's text as arguments of the tool that the request forces, where it forces one. */
  readonly asForcedTool?: boolean;
  /** Refuses, in the dialect's own form. */
  readonly failure?: Failure;
  /** An answer as it is, of no dialect. */
  readonly raw?: { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown };
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** Never answers. */
  readonly hang?: true;
  /** Cuts the connection without an answer. */
  readonly reset?: true;
  readonly beforeFirstMs?: number;
  readonly betweenMs?: number;
  /** After so many content frames the connection is cut. */
  readonly resetAfter?: number;
  /** After so many content frames the answer ends as if it were whole, without the dialect's own end. */
  readonly endAfter?: number;
  /** After so many content frames, 0 = first of all, an error comes inside the stream. */
  readonly failAfter?: { readonly frames: number; readonly failure: Failure };
  /** Bytes of the stream go out in pieces of this size, each a packet of its own. */
  readonly splitBytes?: number;
  /** First of all, as Azure does: a chunk with the verdict on the prompt and no choices. */
  readonly promptFilterFirst?: true;
}

/** By attempt: the first answer to the first request, and so on, then again from the start. */
export type Script = readonly Step[];

export const textReply = (texts: readonly string[], usage: FakeUsage = { input: 7, output: texts.length }): Reply => ({
  pieces: texts.map((text) => ({ type: "text", text })),
  finish: "stop",
  usage,
});
