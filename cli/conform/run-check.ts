import { fromJson, toJson } from "../../common/json.ts";
import type { Check, CheckAnswer, CheckAuth, CheckResult, CheckState } from "./check.ts";
import { shapeFault } from "./check.ts";

const OK_STATUSES: readonly number[] = [200, 201];

/** Sends the request once and checks the response. An unreachable server is a failed check. */
export async function runCheck(
  check: Check,
  where: { baseUrl: string; state: CheckState; timeoutMs: number; signal: AbortSignal },
): Promise<CheckResult> {
  const { baseUrl, state, timeoutMs, signal } = where;
  const operation = `${check.method} ${check.path}${check.variant ? ` (${check.variant})` : ""}`;
  const began = performance.now();
  const ended = (status: number | null, why: string | undefined): CheckResult => ({
    document: check.document,
    operation,
    result: why === undefined ? "pass" : "fail",
    status,
    ms: Math.round(performance.now() - began),
    why: why ?? null,
  });
  try {
    const answer = await exchange(check, { baseUrl, state, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
    const why = fault(check, answer, state);
    if (why === undefined) check.save?.(state, answer.body);
    return ended(answer.status, why);
  } catch (cause) {
    const { message, cause: deeper } = cause as { message?: string; cause?: { code?: string } };
    return ended(null, deeper?.code ?? message ?? "no response");
  }
}

async function exchange(
  check: Check,
  { baseUrl, state, signal }: { baseUrl: string; state: CheckState; signal: AbortSignal },
): Promise<CheckAnswer> {
  const body = check.body?.(state);
  const form = body instanceof FormData;
  const response = await fetch(baseUrl + (check.url?.(state) ?? check.path), {
    method: check.method,
    headers: { ...credentials(check.auth, state), ...(body === undefined || form ? {} : { "content-type": "application/json" }) },
    signal,
    ...(body === undefined ? {} : { body: form ? body : toJson(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function credentials(auth: CheckAuth, { token = "", key = "" }: CheckState): Record<string, string> {
  if (auth === "token") return { authorization: `Bearer ${token}` };
  if (auth === "key") return { "x-gw-api-key": key };
  return auth === "bearer key" ? { authorization: `Bearer ${key}` } : {};
}

function fault(check: Check, answer: CheckAnswer, state: CheckState): string | undefined {
  const wanted = check.status ?? OK_STATUSES;
  if (!wanted.includes(answer.status)) return `expected ${wanted.join(" or ")}: ${answer.text.slice(0, 120)}`;
  return (check.shape && shapeFault(check.shape, answer.body)) ?? check.inspect?.(answer, state);
}

function parsed(text: string): unknown {
  try {
    return fromJson(text);
  } catch {
    return undefined;
  }
}
