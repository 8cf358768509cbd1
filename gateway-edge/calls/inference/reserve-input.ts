import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ReserveInput } from "../../credit/credit.ts";
import type { Router } from "../../upstream/routing/route.ts";
import type { Job } from "./job.ts";
import type { Meter } from "./meter.ts";
import type { CallPlan } from "./plan-call.ts";

interface PlannedCall {
  readonly call: { readonly job: Job<unknown>; readonly caller: Caller; readonly isUncounted?: true | undefined };
  readonly plan: CallPlan;
  readonly meter: Meter;
}

/** What a planned call asks credit for. */
export function reserveInput({ routing }: { readonly routing: Router }, { call, plan, meter }: PlannedCall): ReserveInput {
  const { job, caller, isUncounted } = call;
  const model = routing.groupOf(job.model, caller)?.configuredName ?? job.model;
  return {
    intent: meter.intent(plan.reserve),
    model,
    tokens: plan.inputTokens,
    isLimited: caller.isLimited || plan.isLimited,
    isUncounted,
  };
}
