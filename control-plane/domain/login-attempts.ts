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

  /**
   * Wrong two-factor codes by account. Three of a million codes are right at any time: 100 guesses per hour would have an even chance after
   * three months, 30 per day have it after twenty years.
   */
  readonly #codes = new Throttle({ limit: 30, windowMs: 24 * 60 * MINUTE_MS });

  begin({ account, address }: { account: string; address: string }, now: number): LoginAttempt {
    return take(
      this.#counts.map(({ throttle, nameOf }) => ({ throttle, name: nameOf(account, address) })),
      now,
    );
  }

  /** Only callers with the right password get here, so a new password starts a new count: a stranger cannot lock the user out for a day. */
  beginCode({ account, passwordHash }: { account: number; passwordHash: string }, now: number): LoginAttempt {
    return take([{ throttle: this.#codes, name: `${account} ${passwordHash}` }], now);
  }
}

/** An attempt that has to wait is not counted; otherwise retries would extend the wait. */
function take(named: readonly { throttle: Throttle; name: string }[], now: number): LoginAttempt {
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
