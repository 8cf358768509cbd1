import { EXIT, type ExitCode } from "./exit-codes.ts";

export interface ErrorFacts {
  readonly error: string;
  readonly code: string;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryable?: boolean | undefined;
  readonly details?: unknown;
  /** A sentence that says what the user can do. */
  readonly hint?: string | undefined;
}

/** The only error class of the CLI. It holds what is printed on stderr and the exit code. */
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

export const canceled = (): CliError => new CliError(EXIT.canceled, { error: "Canceled. Nothing was changed.", code: "CANCELLED" });

export const interrupted = (): CliError => new CliError(EXIT.interrupted, { error: "Interrupted.", code: "INTERRUPTED" });
