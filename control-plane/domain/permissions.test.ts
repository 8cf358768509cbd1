import { effectiveRole, mayGrant } from "./permissions.ts";
import { priceAt } from "./pricing.ts";
import type { PriceVersion } from "./records.ts";

test("an organization's owner and admins stand over its teams; its plain members only in their own", () => {
  expect(effectiveRole({ organization: "owner", team: undefined })).toBe("owner");
  expect(effectiveRole({ organization: "admin", team: "member" })).toBe("admin");
  expect(effectiveRole({ organization: "member", team: undefined })).toBeUndefined();
  expect(effectiveRole({ organization: "member", team: "owner" })).toBe("owner");
  expect(effectiveRole({ organization: undefined, team: undefined })).toBeUndefined();
});

test("a manager grants roles up to their own, a member none", () => {
  expect(mayGrant("admin", "owner")).toBe(false);
  expect(mayGrant("admin", "admin")).toBe(true);
  expect(mayGrant("owner", "owner")).toBe(true);
  expect(mayGrant("member", "member")).toBe(false);
});

test("the price in force is the newest version whose time has come", () => {
  const price = (version: number, effectiveAt: number): PriceVersion => ({
    id: `m/${version}`,
    modelId: "m",
    version,
    effectiveAt,
    unit: "token",
    input: 1n,
    output: 1n,
    createdAt: 0,
  });
  const prices = [price(3, 30), price(1, 10), price(2, 10)];
  expect(priceAt(prices, 9)).toBeUndefined();
  expect(priceAt(prices, 10)?.version).toBe(2);
  expect(priceAt(prices, 29)?.version).toBe(2);
  expect(priceAt(prices, 30)?.version).toBe(3);
});
