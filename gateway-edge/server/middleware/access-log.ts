import { z } from "zod";
import type { Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/logger.ts";
import { type Random, randomFraction } from "../../../common/random.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { CallResponse, RequestHeadFields } from "../../calls/http-exchange.ts";
import { requestIdOf } from "./request-id.ts";

/** Which requests get a line: none, all, a share, or as many in each second. */
export type AccessLogRule =
  | { readonly type: "off" }
  | { readonly type: "share"; readonly share: number }
  | { readonly type: "rate"; readonly perSecond: number };

const LINES_PER_SECOND = 20;

export const accessLogSetting = z
  .string()
  .default("auto")
  .transform((text, context): AccessLogRule => {
    if (text === "off") return { type: "off" };
    if (text === "all") return { type: "share", share: 1 };
    if (text === "auto") return { type: "rate", perSecond: LINES_PER_SECOND };
    const share = Number(text);
    if (share >= 0 && share <= 1) return { type: "share", share };
    context.addIssue({ code: "custom", message: "must be auto, all, off, or a share from 0 to 1" });
    return z.NEVER;
  })
  .describe(
    "Which requests get a line in the log: `all`, `off`, a share such as `0.01`, or `auto`, which writes at most 20 lines a second for each edge. Lines that are left out are counted in `tributary_access_lines_left_out_total`, and in the next line as `leftOut`.",
  );

/** Writes the lines of answered requests. */
export interface AccessLog {
  answered(request: RequestHeadFields, response: CallResponse, answer: { status: number; durationMs: number; route: string }): void;
  /** Lines that the rule left out, since the start. */
  leftOut(): number;
}

interface AccessLogDeps {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
}

const PATH_CHARACTERS_MAX = 200;
const MODEL_CHARACTERS_MAX = 100;
const SECOND_MS = 1000;
/** Probes and scrapes, which come all the time. */
const UNLOGGED = /^\/(?:health|metrics)(?:[/?]|$)/;

export function createAccessLog(rule: AccessLogRule, deps: AccessLogDeps): AccessLog | undefined {
  return rule.type === "off" ? undefined : new RuledAccessLog(rule, deps);
}

class RuledAccessLog implements AccessLog {
  readonly #rule: Exclude<AccessLogRule, { type: "off" }>;
  readonly #deps: AccessLogDeps;
  #second = { sinceMs: Number.NEGATIVE_INFINITY, lines: 0 };
  #leftOut = 0;
  #reported = 0;

  constructor(rule: Exclude<AccessLogRule, { type: "off" }>, deps: AccessLogDeps) {
    this.#rule = rule;
    this.#deps = deps;
  }

  answered(request: RequestHeadFields, response: CallResponse, answer: { status: number; durationMs: number; route: string }): void {
    const { url } = request;
    if (UNLOGGED.test(url)) return;
    if (!this.#takes()) {
      this.#leftOut++;
      return;
    }
    const leftOut = this.#leftOut - this.#reported;
    this.#reported = this.#leftOut;
    this.#deps.logger.info(
      {
        requestId: requestIdOf(response),
        method: request.method,
        // Only the path, because a query may contain a key.
        path: url.split("?", 1)[0]?.slice(0, PATH_CHARACTERS_MAX),
        route: answer.route,
        status: answer.status,
        durationMs: Math.round(answer.durationMs * 10) / 10,
        ...callFields(response),
        ...(leftOut > 0 ? { leftOut } : {}),
      },
      "answered",
    );
  }

  leftOut(): number {
    return this.#leftOut;
  }

  #takes(): boolean {
    const rule = this.#rule;
    if (rule.type === "share") return rule.share === 1 || (rule.share > 0 && randomFraction(this.#deps.random) < rule.share);
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#second.sinceMs >= SECOND_MS) this.#second = { sinceMs: nowMs, lines: 0 };
    return this.#second.lines++ < rule.perSecond;
  }
}

/** What is known of a model call: its ids, who made it, and the model. Never its content. */
function callFields(response: CallResponse): Record<string, unknown> {
  const { callId, traceId, caller, body } = response.locals;
  if (callId === undefined) return {};
  const { organizationId, keyId } = (caller ?? {}) as Partial<Caller>;
  const { model } = (body ?? {}) as { model?: unknown };
  const named = typeof model === "string" ? model.slice(0, MODEL_CHARACTERS_MAX) : undefined;
  return { callId, traceId, organizationId, keyId, model: named };
}
