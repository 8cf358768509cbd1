import { Throttle } from "./throttle.ts";

const MINUTE_MS = 60_000;

/** An attempt that was let through, or how long to wait. */
export type LoginAttempt = { waitMs: number } | { waitMs: 0; giveBack(): void };

/**
 * Attempts at passwords, counted before the password is checked: parallel guesses find the count already raised. The account together
 * with the address stops guessing from one place without locking the person out elsewhere; the account alone bounds guessing from many
 * places; the address alone bounds one place that tries many accounts.
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

  /** Nothing is counted when the attempt has to wait, so that waiting ends. */
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
