import { Throttle } from "./throttle.ts";

const MINUTE_MS = 60_000;

/** An admitted attempt, or how long to wait for the next one. */
export type LoginAttempt = { waitMs: number } | { waitMs: 0; giveBack(): void };

/**
 * Log-in attempts, counted before the password is checked, so that parallel guesses see the raised count. The limit by account and
 * address stops guessing from one address without locking the user out elsewhere; the limit by account bounds guessing from many
 * addresses; the limit by address bounds one client that tries many accounts.
 */
export class LoginAttempts {
  readonly #counts = [
    {
      throttle: new Throttle({ limit: 10, windowMs: 5 * MINUTE_MS }),
      nameOf: (account: string, address: string) => `${account} ${address}`,
    },
    { throttle: new Throttle({ limit: 100, windowMs: 60 * MINUTE_MS }), nameOf: (account: string) => account },
    { throttle: new Throttle({ limit: 200, windowMs: 5 * MINUTE_MS }), nameOf: (_account: string, address: string) => address },
  ];

  /** An attempt that has to wait is not counted; otherwise retries would extend the wait. */
  begin({ account, address }: { account: string; address: string }, now: number): LoginAttempt {
    const named = this.#counts.map(({ throttle, nameOf }) => ({ throttle, name: nameOf(account, address) }));
    const waitMs = Math.max(...named.map(({ throttle, name }) => throttle.waitMs(name, now)));
    if (waitMs > 0) return { waitMs };
    for (const { throttle, name } of named) throttle.take(name, now);
    return {
      waitMs: 0,
      giveBack: () => {
        for (const { throttle, name } of named) throttle.giveBack(name, now);
      },
    };
  }
}
