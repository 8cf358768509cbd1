/** One part of a model's output, independent of the dialect. */
export type Piece =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly signature?: string }
  | {
      readonly type: "tool";
      readonly id: string;
      readonly name: string;
      /** JSON text in the chunks of a stream; empty if the model gave no arguments. */
      readonly fragments: readonly string[];
      readonly signature?: string;
    };

export type Finish = "stop" | "length" | "tool_calls" | "content_filter" | "malformed";

export interface FakeUsage {
  /** Without cached and cache-written tokens. */
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

/** Failures that every dialect can express. */
export type Failure = "context" | "policy" | "auth" | "rate-limit" | "server" | "overloaded" | "bad-request";

/** One attempt. The fields after `reply` control how its bytes are sent. */
export interface Step {
  readonly reply?: Reply;
  /** Replaces `reply` once the conversation contains a tool result. */
  readonly afterToolResult?: Reply;
  /** Sends the text of the reply as arguments of the forced tool, if the request forces one. */
  readonly asForcedTool?: boolean;
  /** Responds with an error in the dialect's format. */
  readonly failure?: Failure;
  /** A raw response. */
  readonly raw?: { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown };
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** Never responds. */
  readonly hang?: true;
  /** Cuts the connection without a response. */
  readonly reset?: true;
  readonly beforeFirstMs?: number;
  readonly betweenMs?: number;
  /** The connection is cut after this number of content frames. */
  readonly resetAfter?: number;
  /** The stream ends after this number of content frames, without the end marker of the dialect. */
  readonly endAfter?: number;
  /** An error is sent inside the stream after this number of content frames; 0 is before the first. */
  readonly failAfter?: { readonly frames: number; readonly failure: Failure };
  /** The stream is sent in chunks of this size, each in a separate packet. */
  readonly splitBytes?: number;
  /** Starts the stream like Azure: a chunk with the content filter result of the prompt and no choices. */
  readonly promptFilterFirst?: true;
}

/** One step per request, repeated from the start after the last. */
export type Script = readonly Step[];

export const textReply = (texts: readonly string[], usage: FakeUsage = { input: 7, output: texts.length }): Reply => ({
  pieces: texts.map((text) => ({ type: "text", text })),
  finish: "stop",
  usage,
});
