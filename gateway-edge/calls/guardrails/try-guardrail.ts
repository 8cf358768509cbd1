import { ZodError } from "zod";
import { AppError, type ErrorDetail } from "../../../common/errors.ts";
import { GUARDRAIL_KINDS } from "../../../common/guardrails/kinds.ts";
import { silentLogger } from "../../../common/logger.ts";
import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Guardrail, Stage, Verdict } from "./guardrail.ts";
import { compileGuardrail } from "./guardrail-settings.ts";
import { inTime } from "./in-time.ts";
import { Vault } from "./vault.ts";

/** Settings of a guardrail that need not exist. */
export interface GuardrailDraft {
  readonly kind: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface Tried {
  readonly action: "allow" | "block" | "mask";
  /** What would be sent on; null if it is blocked. */
  readonly text: string | null;
  readonly reason: string | null;
}

const CHECK_MS_MAX = 250;
/** On texts such as these a pattern that backtracks without bound takes longer than any call may. */
const PROBES = ["a", "0", " ", ".", "-", "a1", "a ", "a@"].map((part) => `${part.repeat(1000)}!`);
const MODERATION = "moderation-model";

/** What a guardrail of these settings decides about a text. Throws VALIDATION_ERROR, by field, on settings that it cannot use. */
export function tryGuardrail(draft: GuardrailDraft, { text, stage }: { readonly text: string; readonly stage: Stage }): Tried {
  if (draft.kind === MODERATION) {
    throw new AppError(
      "VALIDATION_ERROR",
      "A moderation model is not called here, because its calls are billed. Send a call that names it.",
    );
  }
  const guardrail = compiled(draft);
  if (guardrail.stage !== "both" && guardrail.stage !== stage) return { action: "allow", text, reason: null };
  const verdict = timed(draft, () => check(guardrail, text, stage));
  if (verdict.action === "block") return { action: "block", text: null, reason: verdict.reason };
  return { action: verdict.action, text: verdict.action === "mask" ? (verdict.texts[0] ?? "") : text, reason: null };
}

/** Refuses settings that an edge cannot use, and patterns that would hold up every call. */
export function checkGuardrail(draft: GuardrailDraft): void {
  const guardrail = compiled(draft);
  if (draft.kind === "regex") timed(draft, () => void PROBES.map((probe) => check(guardrail, probe, "pre")));
}

function check(guardrail: Guardrail, text: string, stage: Stage): Verdict {
  const context = { stage, callId: "", caller: Caller.fromPartial({}), signal: AbortSignal.timeout(CHECK_MS_MAX), vault: new Vault() };
  // Only a moderation model answers later, and that is not tried.
  return guardrail.check([text], context) as Verdict;
}

function compiled({ kind, settings }: GuardrailDraft): Guardrail {
  const base = { name: "draft", kind, stage: "both", byDefault: false, enabled: true } as const;
  const moderate = () => Promise.reject(new Error("a draft calls no model"));
  try {
    return compileGuardrail(base, settings, { moderate, logger: silentLogger });
  } catch (error) {
    if (error instanceof AppError && error.code === "VALIDATION_ERROR") throw error;
    const message = error instanceof Error ? error.message : String(error);
    const details = error instanceof ZodError ? zodDetails(error) : [{ path: pathOf(kind), message }];
    throw new AppError("VALIDATION_ERROR", "The guardrail's settings are not valid.", { details });
  }
}

function zodDetails({ issues }: ZodError): ErrorDetail[] {
  return issues.map(({ path, message }) => ({ path: ["body", "settings", ...path.map(String)].join("."), message }));
}

/** Where a problem is shown that has no place of its own: at the setting that the kind requires. */
function pathOf(kind: string): string {
  const [name] = Object.entries(GUARDRAIL_KINDS[kind]?.settings ?? {}).find(([, { required }]) => required) ?? [];
  return name === undefined ? "body.settings" : `body.settings.${name}`;
}

/** Ends a pattern that backtracks without bound, which would otherwise block the thread of the edge. */
function timed<Result>({ kind }: GuardrailDraft, work: () => Result): Result {
  const done = inTime(CHECK_MS_MAX, work);
  if (done) return done.result;
  const isPattern = kind === "regex";
  const message = isPattern ? "takes too long on long texts; avoid nested repetitions such as (a+)+" : "takes too long on this text";
  const title = isPattern ? "A pattern takes too long." : "The check takes too long.";
  throw new AppError("VALIDATION_ERROR", title, { details: [{ path: pathOf(kind), message }] });
}
