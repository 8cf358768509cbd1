import type { Response } from "express";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";

/** No timeout is configured for these calls. */
const CALL_MS_MAX = 30 * 60_000;
/** The report comes right after the last word. */
const REPORT_MS = 500;

/** The upstream side of a proxied call: ends when its client leaves, or when it takes too long. */
export class ProxiedConnection {
  readonly #upstream = new AbortController();
  #isAnswering = false;
  #hasLeft = false;
  #cancel: () => void;

  constructor(response: Response, clock: Clock) {
    this.#cancel = clock.after(CALL_MS_MAX, () => this.#upstream.abort(tookTooLong()));
    const close = () => {
      this.#cancel();
      if (response.writableFinished) return;
      this.#hasLeft = true;
      const end = () => this.#upstream.abort(new Error("the client left"));
      // Who leaves with the last word would otherwise not pay for what only the report says.
      if (this.#isAnswering) this.#cancel = clock.after(REPORT_MS, end);
      else end();
    };
    if (response.closed) close();
    else response.once("close", close);
  }

  get signal(): AbortSignal {
    return this.#upstream.signal;
  }

  /** Whether the client closed the connection before its answer was complete. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** The provider has begun to answer. */
  answering(): void {
    this.#isAnswering = true;
  }

  /** The answer has ended. */
  done(): void {
    this.#cancel();
  }
}

function tookTooLong(): AppError {
  return new AppError("UPSTREAM_TIMEOUT", `The provider's answer took longer than ${CALL_MS_MAX / 60_000} minutes.`);
}
