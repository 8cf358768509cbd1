import { EXIT, type ExitCode } from "./exit-codes.ts";

export interface ErrorFacts {
  readonly error: string;
  readonly code: string;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryable?: boolean | undefined;
  readonly details?: unknown;
  /** What to do about it, in a sentence. */
  readonly hint?: string | undefined;
}

/** The one error of this program: what is printed on stderr, and the code it ends with. */
export class CliError extends Error {
  readonly exit: ExitCode;
  readonly facts: ErrorFacts;

  constructor(exit: ExitCode, facts: ErrorFacts) {
    super(facts.error);
    this.exit = exit;
    this.facts = facts;
  }
}

export const usageError = (error: string, hint?: string): CliError => new CliError(EXIT.usage, { error, code: "USAGE", hint });

export const cancelled = (): CliError => new CliError(EXIT.cancelled, { error: "Cancelled; nothing was changed.", code: "CANCELLED" });

export const interrupted = (): CliError => new CliError(EXIT.interrupted, { error: "Interrupted.", code: "INTERRUPTED" });
