import { z } from "zod";
import { fromUsd } from "../../common/money.ts";
import { isTimeZone } from "./date-range.ts";

// Fields that many bodies share, with their limits.

const NAME_LENGTH_MAX = 100;
const ID_LENGTH_MAX = 128;
const SEARCH_LENGTH_MAX = 200;
const PURCHASE_NANO_MAX = 1_000_000_000_000_000;
const PURCHASE_TOO_BIG = "must be at most 1,000,000 USD";
export const INT32_MAX = 2_147_483_647;

// No control characters and no lone surrogates: UTF-8 cannot encode those, so two different texts would be stored as the same bytes. A
// check and not a pattern, because the patterns in /openapi.json must work in every language and this one needs Unicode classes.
const printable = [(text: string) => /^[^\p{Cc}\p{Cs}]*$/u.test(text), "must not contain control characters"] as const;

export const plainText = (lengthMax: number) =>
  z
    .string()
    .trim()
    .min(1, "must not be empty")
    .max(lengthMax, `must have at most ${lengthMax} characters`)
    .refine(...printable);

export const name = plainText(NAME_LENGTH_MAX);
export const id = plainText(ID_LENGTH_MAX);
export const search = plainText(SEARCH_LENGTH_MAX);
/** Names of guardrails in the configuration file. */
export const guardrailNames = z.array(plainText(200)).max(50);

/** An email address for sign-up and invitations. The domain `localhost` is allowed, for admins of self-hosted systems. */
export const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254, "must have at most 254 characters")
  .refine((value) => z.regexes.email.test(value) || /^[a-z0-9][a-z0-9._+-]*@localhost$/.test(value), "must be an email address")
  .meta({ openapi: { type: "string", format: "email", maxLength: 254 } });

/** The email of a log-in. Its format is not checked, so that a malformed one is a 401 like any other. */
export const loginEmail = z
  .string()
  .trim()
  .toLowerCase()
  .min(1, "must not be empty")
  .max(254)
  .refine(...printable);
export const givenPassword = z.string().min(1, "must not be empty").max(1024);
export const newPassword = z
  .string()
  .min(8, "must have at least 8 characters")
  .max(256, "must have at most 256 characters")
  .refine(...printable);

/** A code of an authenticator app or a recovery code. Its format is not checked, so that a malformed one is a 401 like any wrong one. */
export const otp = plainText(64);

/** The `token` parameter of an invitation link. */
export const inviteToken = plainText(512);

export const teamRole = z.enum(["member", "admin", "owner"]);
export const timeZone = z.string().max(64).refine(isTimeZone, "must be an IANA time zone such as Europe/Berlin");

export const positiveCount = z.int().min(1).max(INT32_MAX);
/** Nano-USD in JSON: an integer that a double represents exactly. */
function wholeNano({ tooSmall, tooBig }: { tooSmall: string; tooBig: string }) {
  const messages: Partial<Record<string, string>> = { too_small: tooSmall, too_big: tooBig };
  return z.int({ error: ({ code }) => messages[code] ?? "must be a whole number of nano-USD" });
}
export const nanoAmount = wholeNano({ tooSmall: "must not be negative", tooBig: "is too large" }).min(0);
export const instant = z.iso.datetime({ offset: true, error: "must be an ISO 8601 date and time with Z or an offset" });

export const userId = z
  .string()
  .regex(/^[0-9]{1,18}$/, "must be a whole number")
  .transform(BigInt)
  .meta({ openapi: { type: "integer", format: "int64", minimum: 1 } });

export const idParams = z.object({ id });
export const userIdParams = z.object({ id: userId });

const wholeNumber = ({ min, max, fallback }: { min: number; max: number; fallback: number }) =>
  z
    .string()
    .regex(/^[0-9]{1,9}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.int().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
    .default(fallback)
    .meta({ openapi: { type: "integer", minimum: min, maximum: max, default: fallback } });

const PAGE_SIZE_MAX = 100;
/** Further pages are as empty as this one. */
const PAGE_MAX = 999_999_999;

/** The query fields of every list. */
export const paging = {
  page: z
    .string()
    .regex(/^[0-9]{1,15}$/, "must be a whole number")
    .transform((digits) => Math.min(Number(digits), PAGE_MAX))
    .pipe(z.int().min(1, "must be at least 1"))
    .default(1)
    .meta({ openapi: { type: "integer", minimum: 1, default: 1 } }),
  pageSize: wholeNumber({ min: 1, max: PAGE_SIZE_MAX, fallback: 20 }),
};
export const pageQuery = z.object(paging);
export const searchQuery = z.object({ ...paging, search: search.optional() });

interface GivenAmount {
  amount?: number | undefined;
  amountUsd?: number | string | undefined;
}

/** Either `amount` in nano-USD or `amountUsd` as a decimal. */
export const amountFields = (range: "positive" | "signed") => {
  const min = range === "positive" ? 1 : -PURCHASE_NANO_MAX;
  const tooSmall = range === "positive" ? "must be above zero" : PURCHASE_TOO_BIG;
  return {
    amount: wholeNano({ tooSmall, tooBig: PURCHASE_TOO_BIG }).min(min).max(PURCHASE_NANO_MAX).optional(),
    amountUsd: z.union([z.number(), z.string().max(32)], "must be a decimal number or string").optional(),
  };
};

/** The amount of a body with `amountFields` in nano-USD. Calls `refuse` if it is not valid. */
export function readAmount(given: GivenAmount, range: "positive" | "signed", refuse: (path: string, message: string) => void): bigint {
  if ((given.amount === undefined) === (given.amountUsd === undefined)) {
    refuse("amount", "give either amount (whole nano-USD) or amountUsd (decimal USD)");
    return 0n;
  }
  const path = given.amount === undefined ? "amountUsd" : "amount";
  const amount = given.amountUsd === undefined ? BigInt(given.amount ?? 0) : fromUsd(given.amountUsd);
  const limit = BigInt(PURCHASE_NANO_MAX);
  if (amount === undefined) refuse(path, "must be a decimal amount, with at most ten digits before the point and nine after it");
  else if (amount === 0n) refuse(path, "must not be zero");
  else if (range === "positive" && amount < 0n) refuse(path, "must be above zero");
  else if (amount > limit || amount < -limit) refuse(path, PURCHASE_TOO_BIG);
  return amount ?? 0n;
}
