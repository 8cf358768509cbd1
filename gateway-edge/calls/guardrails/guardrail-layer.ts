import type { Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { chosenGuardrails } from "./chosen.ts";
import { createFindings, type Findings } from "./findings.ts";
import type { Guardrail } from "./guardrail.ts";
import { compileGuardrails } from "./guardrail-settings.ts";
import type { Moderate } from "./moderation-model.ts";

/** The current guardrails, as the configuration changes. */
export interface GuardrailLayer {
  update(settingsJson: string): void;
  chosenFor(call: { readonly caller: Caller; readonly request: Fields | undefined }): Guardrail[];
  /** No guardrail applies to this call. */
  isNone(caller: Pick<Caller, "guardrails">, request: Fields): boolean;
  /** In the order in which requests are checked. */
  list(): readonly Guardrail[];
  readonly findings: Findings;
}

export function createGuardrailLayer(options: {
  readonly moderate: Moderate;
  readonly logger: Logger;
  readonly clock: Clock;
}): GuardrailLayer {
  let known: ReadonlyMap<string, Guardrail> = new Map();
  let compiledFrom = "";
  return {
    update(settingsJson) {
      if (settingsJson === compiledFrom) return;
      known = compileGuardrails(settingsJson, options);
      compiledFrom = settingsJson;
    },
    isNone: (caller, request) => known.size === 0 && caller.guardrails.length === 0 && request["guardrails"] === undefined,
    chosenFor: (call) => chosenGuardrails(known, call),
    list: () => [...known.values()],
    findings: createFindings(options.clock),
  };
}
