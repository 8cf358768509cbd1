import { AppError } from "../../../common/errors.ts";
import { applyGuardrails, atStage } from "../guardrails/apply.ts";
import type { Guardrail, GuardrailContext, Stage } from "../guardrails/guardrail.ts";
import type { GuardrailLayer } from "../guardrails/guardrail-layer.ts";
import { guardedScreen } from "../guardrails/screen.ts";
import { Vault } from "../guardrails/vault.ts";
import type { InferenceResult } from "../inference/inference-call.ts";
import type { JobTraits, PromptTraits } from "../inference/job.ts";
import { type PlanDeps, planCall } from "../inference/plan-call.ts";
import { alternativesOf } from "../inference/route-request.ts";
import type { LayeredCall, RunCall } from "../inference/run-call.ts";

export interface GuardedRunDeps extends PlanDeps {
  readonly guardrails: GuardrailLayer;
}

/** The layer in which guardrails read a request before anything is reserved or sent, and its answer before anything is shown. */
export function guardedRun(deps: GuardedRunDeps, run: RunCall): RunCall {
  return (call) => {
    const traits = call.job.traits?.();
    if (!traits) return run(call);
    // Without any guardrail there is nothing to check.
    if (deps.guardrails.isNone(call.caller, traits.request)) return run(call);
    return runGuarded(deps, run, { call, traits });
  };
}

async function runGuarded<Answer>(
  deps: GuardedRunDeps,
  run: RunCall,
  { call, traits }: { call: LayeredCall<Answer>; traits: JobTraits<Answer> },
): Promise<InferenceResult<Answer>> {
  if (!traits.prompt && !traits.readable) return run(call);
  const chosen = deps.guardrails.chosenFor({ caller: call.caller, request: traits.request });
  if (chosen.length === 0) return run(call);
  const job = traits.readable?.() ?? call.job;
  const prompt = traits.prompt ?? job.traits?.().prompt;
  if (!prompt) throw new Error(`guardrails cannot read ${job.operation}`);
  // A caller that may not make the call gets that error, not the guardrails' result.
  const { caller, routing } = call;
  planCall(deps, { caller, job, alternatives: alternativesOf(routing), routing });
  return run(await guarded(deps, { ...call, job }, { chosen, prompt }));
}

async function guarded<Answer>(
  { guardrails: { findings } }: GuardedRunDeps,
  call: LayeredCall<Answer>,
  { chosen, prompt }: { chosen: readonly Guardrail[]; prompt: PromptTraits<Answer> },
): Promise<LayeredCall<Answer>> {
  const [pre, post] = [atStage(chosen, "pre"), atStage(chosen, "post")];
  const vault = new Vault();
  const contextAt = (stage: Stage): GuardrailContext => {
    const { callId, caller, signal } = call;
    return { stage, callId, caller, signal, vault };
  };
  const job = pre.length === 0 ? call.job : await readPrompt(prompt, call.job, (texts) => applyGuardrails(pre, texts, at("pre")));
  const { answer: answerTraits } = prompt;
  if (post.length === 0 || !answerTraits) return { ...call, job };
  const read = (texts: readonly string[]) => applyGuardrails(post, texts, at("post"));
  const readers = { read, mask: (texts: readonly string[]) => maskOnly(post, texts, contextAt("post")) };
  return {
    ...call,
    job,
    review: async (answer) => answerTraits.withTexts(answer, await read(answerTraits.texts(answer))),
    screen: guardedScreen(readers, Math.max(...post.map(({ reach }) => reach))),
  };

  function at(stage: Stage) {
    return { context: contextAt(stage), findings };
  }
}

async function readPrompt<Answer>(
  prompt: PromptTraits<Answer>,
  job: LayeredCall<Answer>["job"],
  read: (texts: readonly string[]) => Promise<readonly string[]>,
): Promise<LayeredCall<Answer>["job"]> {
  const { texts: given } = prompt;
  if (given === undefined) {
    throw new AppError("INVALID_REQUEST", "A guardrail must read this request: send text, not tokens.");
  }
  const texts = await read(given);
  return texts === given ? job : prompt.withTexts(texts);
}

/** The texts as the guardrails would mask them if none of them blocked. */
async function maskOnly(guardrails: readonly Guardrail[], texts: readonly string[], context: GuardrailContext): Promise<readonly string[]> {
  let current = texts;
  for (const guardrail of guardrails) {
    const verdict = await guardrail.check(current, context);
    if (verdict.action === "mask") current = verdict.texts;
  }
  return current;
}
