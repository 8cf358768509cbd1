import { fromJson, toJson } from "../../common/json.ts";
import type { Carrier, Check, CheckAnswer, CheckResult, World } from "./check.ts";
import { shapeFault } from "./check.ts";

const RIGHT: readonly number[] = [200, 201];

/** Sends the request once and checks the response. An unreachable server is a failed check. */
export async function runCheck(
  check: Check,
  where: { baseUrl: string; world: World; timeoutMs: number; signal: AbortSignal },
): Promise<CheckResult> {
  const { baseUrl, world, timeoutMs, signal } = where;
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
    const answer = await exchange(check, { baseUrl, world, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
    const why = fault(check, answer, world);
    if (why === undefined) check.keep?.(world, answer.body);
    return ended(answer.status, why);
  } catch (cause) {
    const { message, cause: deeper } = cause as { message?: string; cause?: { code?: string } };
    return ended(null, deeper?.code ?? message ?? "no response");
  }
}

async function exchange(
  check: Check,
  { baseUrl, world, signal }: { baseUrl: string; world: World; signal: AbortSignal },
): Promise<CheckAnswer> {
  const body = check.body?.(world);
  const form = body instanceof FormData;
  const response = await fetch(baseUrl + (check.url?.(world) ?? check.path), {
    method: check.method,
    headers: { ...credentials(check.carrier, world), ...(body === undefined || form ? {} : { "content-type": "application/json" }) },
    signal,
    ...(body === undefined ? {} : { body: form ? body : toJson(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function credentials(carrier: Carrier, { token = "", key = "" }: World): Record<string, string> {
  if (carrier === "token") return { authorization: `Bearer ${token}` };
  if (carrier === "key") return { "x-gw-api-key": key };
  return carrier === "bearer key" ? { authorization: `Bearer ${key}` } : {};
}

function fault(check: Check, answer: CheckAnswer, world: World): string | undefined {
  const wanted = check.status ?? RIGHT;
  if (!wanted.includes(answer.status)) return `expected ${wanted.join(" or ")}: ${answer.text.slice(0, 120)}`;
  return (check.shape && shapeFault(check.shape, answer.body)) ?? check.look?.(answer, world);
}

function parsed(text: string): unknown {
  try {
    return fromJson(text);
  } catch {
    return undefined;
  }
}
