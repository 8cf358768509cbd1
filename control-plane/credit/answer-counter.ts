import { limitName } from "../../common/slots.ts";
import type { UsageRow } from "../domain/records.ts";
import { type AdmittedAs, type AnswerTokens, answerTokens } from "./answer-tokens.ts";
import type { RateLimiter } from "./rate-limiter.ts";

/** Counts answers under the limits of tokens of who called, and of the model. */
export class AnswerCounter {
  readonly #rates: Pick<RateLimiter, "addTokens" | "tokenLimits">;
  readonly #modelOf: (deploymentId: string) => Promise<string | undefined>;

  /** `modelOf` is the configured name of a deployment's model. */
  constructor(rates: Pick<RateLimiter, "addTokens" | "tokenLimits">, modelOf: (deploymentId: string) => Promise<string | undefined>) {
    this.#rates = rates;
    this.#modelOf = modelOf;
  }

  count(rows: readonly UsageRow[], admittedAs: AdmittedAs): void {
    for (const answer of answerTokens(rows, admittedAs)) {
      this.#rates.addTokens(answer.names, answer.tokens);
      if (this.#rates.tokenLimits.models > 0) void this.#countForModel(answer);
    }
  }

  /** A call that is not known any more may have named its model by an alias, a name under a wildcard or the id of the deployment. */
  async #countForModel({ model, deploymentId, tokens }: AnswerTokens): Promise<void> {
    const named = limitName({ kind: "model", id: model });
    const configured = this.#rates.tokenLimits.has(named) ? undefined : await this.#modelOf(deploymentId);
    this.#rates.addTokens([configured === undefined ? named : limitName({ kind: "model", id: configured })], tokens);
  }
}
