import { AppError } from "../../../common/errors.ts";

const AT_ONCE_MAX = 2;
export const WAITING_MAX = 32;

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/** Lists of tools cost nothing: those of one key wait for each other. */
export class ListTurns {
  readonly #lines = new Map<string, Line>();

  /** Throws RATE_LIMIT_EXCEEDED if too many lists of the key wait. */
  async run<Result>(keyId: string, work: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(keyId) ?? { running: 0, waiting: [] };
    this.#lines.set(keyId, line);
    if (line.running < AT_ONCE_MAX) line.running++;
    else await this.#turn(line);
    try {
      return await work();
    } finally {
      // The turn passes on, or ends.
      const next = line.waiting.shift();
      if (next) next();
      else if (--line.running === 0) this.#lines.delete(keyId);
    }
  }

  #turn({ waiting }: Line): Promise<void> {
    if (waiting.length >= WAITING_MAX) {
      const message = `${WAITING_MAX} lists of tools of this key are waiting. Try again when one of them is done.`;
      throw new AppError("RATE_LIMIT_EXCEEDED", message, { retryAfterSeconds: 1 });
    }
    return new Promise((resolve) => void waiting.push(resolve));
  }
}
