import { AppError } from "../../common/errors.ts";
import { Throttle } from "./throttle.ts";

/** What costs strangers nothing and others mails, requests or work, and the text that refuses it. */
const ACTIONS = {
  signUp: { exposedPerHour: 20, many: "sign-ups" },
  resetMail: { exposedPerHour: 10, many: "password reset requests" },
  passwordReset: { exposedPerHour: 20, many: "password resets" },
  verificationMail: { exposedPerHour: 10, many: "verification mails" },
  oidcSignIn: { exposedPerHour: 300, many: "sign-ins" },
  invitation: { exposedPerHour: 100, many: "invitations" },
  test: { exposedPerHour: 100, many: "tests of webhooks and alerts" },
} as const;

export type LimitedAction = keyof typeof ACTIONS;

/** On a deployment that only its own machine reaches, where scripts and tests create many accounts. */
const OTHERWISE_PER_HOUR = 1000;
const HOUR_MS = 3_600_000;

/** Limits what one client address can do in an hour. An action that is refused is not counted. */
export class AddressLimits {
  readonly #throttles: Readonly<Record<LimitedAction, Throttle>>;

  constructor({ exposed }: { exposed: boolean }) {
    const throttle = (action: LimitedAction) =>
      new Throttle({ limit: exposed ? ACTIONS[action].exposedPerHour : OTHERWISE_PER_HOUR, windowMs: HOUR_MS });
    const names = Object.keys(ACTIONS) as LimitedAction[];
    this.#throttles = Object.fromEntries(names.map((name) => [name, throttle(name)])) as Record<LimitedAction, Throttle>;
  }

  take(action: LimitedAction, address: string, now: number): void {
    const throttle = this.#throttles[action];
    const seconds = Math.ceil(throttle.waitMs(address, now) / 1000);
    if (seconds > 0) {
      const message = `Too many ${ACTIONS[action].many} from this address. Try again in ${seconds} seconds.`;
      throw new AppError("RATE_LIMIT_EXCEEDED", message, { retryAfterSeconds: seconds });
    }
    throttle.take(address, now);
  }
}
