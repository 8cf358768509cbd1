import { nanoAmount } from "./fields.ts";
import { grantBody, purchaseBody } from "./platform/billing.ts";

const problemOf = (result: { error?: { issues: readonly { message: string }[] } | undefined }) => result.error?.issues[0]?.message;

test.each([
  [{ amount: 0 }, "must be above zero"],
  [{ amount: -1 }, "must be above zero"],
  [{ amount: 1.5 }, "must be a whole number of nano-USD"],
  [{ amount: "5000" }, "must be a whole number of nano-USD"],
  [{ amount: 10 ** 16 }, "must be at most 1,000,000 USD"],
  [{ amount: 10 ** 30 }, "must be at most 1,000,000 USD"],
  [{ amountUsd: "2000000" }, "must be at most 1,000,000 USD"],
  [{ amountUsd: "99999999999999" }, "must be a decimal amount, with at most ten digits before the point and nine after it"],
  [{ amountUsd: "1.0000000001" }, "must be a decimal amount, with at most ten digits before the point and nine after it"],
])("the error for a purchase of %j says what is wrong", (body, message) => {
  expect(problemOf(purchaseBody.safeParse(body))).toBe(message);
});

test("so are grants, which may be negative, and prices, which may be nothing", () => {
  expect(problemOf(grantBody.safeParse({ amount: -(10 ** 16) }))).toBe("must be at most 1,000,000 USD");
  expect(problemOf(grantBody.safeParse({ amount: 0 }))).toBe("must not be zero");
  expect(problemOf(nanoAmount.safeParse(-1))).toBe("must not be negative");
  expect(problemOf(nanoAmount.safeParse(2 ** 53))).toBe("is too large");
  expect(problemOf(nanoAmount.safeParse(null))).toBe("must be a whole number of nano-USD");
});
