import type { UsageLog } from "../../api/types.ts";

/** What calls belong together by: a session (metadata.session_id) or a W3C trace (the header traceparent). The tag of each begins with its name. */
export type CallGroup = "session" | "trace";
const GROUPS: readonly CallGroup[] = ["session", "trace"];

export const groupOf = (tag: string): CallGroup | undefined => GROUPS.find((group) => tag.startsWith(`${group}:`));

/** The tags of a call's session and trace. */
export const groupTagsOf = (tags: readonly string[]): { tag: string; group: CallGroup }[] =>
  tags.flatMap((tag) => {
    const group = groupOf(tag);
    return group ? [{ tag, group }] : [];
  });

/** The ID in a tag of a group, as far as the tag has it. */
export function groupName(tag: string): string {
  const group = groupOf(tag);
  return group ? tag.slice(group.length + 1) : tag;
}

type Timed = Pick<UsageLog, "createdAt" | "latencyMs" | "status">;

/** A call with its place on the time line of the session, in percent. */
export interface PlacedCall<Call> {
  readonly call: Call;
  readonly startPercent: number;
  readonly widthPercent: number;
  /** Since the first call began. */
  readonly offsetMs: number;
}

export interface SessionCalls<Call> {
  /** Oldest first. */
  readonly calls: readonly PlacedCall<Call>[];
  /** From the begin of the first call to the end of the last one. */
  readonly spanMs: number;
  /** Sum of the latencies. */
  readonly busyMs: number;
  /** Calls without success. */
  readonly failed: number;
}

/** The calls of a session in order of time. */
export function sessionCalls<Call extends Timed>(logs: readonly Call[]): SessionCalls<Call> {
  const timed = logs.map((call) => ({ call, begin: Date.parse(call.createdAt) })).sort((left, right) => left.begin - right.begin);
  const begin = timed[0]?.begin ?? 0;
  const end = Math.max(begin, ...timed.map(({ call, begin: at }) => at + call.latencyMs));
  const spanMs = end - begin;
  const percent = (ms: number) => (spanMs === 0 ? 0 : (100 * ms) / spanMs);
  return {
    calls: timed.map(({ call, begin: at }) => ({
      call,
      offsetMs: at - begin,
      startPercent: percent(at - begin),
      widthPercent: percent(call.latencyMs),
    })),
    spanMs,
    busyMs: timed.reduce((sum, { call }) => sum + call.latencyMs, 0),
    failed: timed.filter(({ call }) => call.status !== "success").length,
  };
}
