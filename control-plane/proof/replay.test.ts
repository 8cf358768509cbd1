import fc from "fast-check";
import type { PriceUnit } from "../../common/pricing.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { UsageRow } from "../domain/records.ts";
import { NO_GATEWAY_CONFIG } from "../gateway-config/gateway-config.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { addPrice, type PriceInput } from "../writes/catalog.ts";
import { checkRollups } from "./check-rollups.ts";
import { DAY, plant, purchase, QUARTER, reportedCall, settle, withLedger } from "./ledger-fixture.ts";
import { PriceBook } from "./price-book.ts";
import { replayBalance, repriceCalls } from "./replay.ts";

const signal = new AbortController().signal;
const HOUR = 4 * QUARTER;

interface Step {
  organizationId: "org_1" | "org_2";
  amount: bigint;
  isCall: boolean;
}

/** A step a millisecond: calls and purchases, in the order given. */
async function play(store: Store, steps: readonly Step[]): Promise<void> {
  for (const [index, { organizationId, amount, isCall }] of steps.entries()) {
    const now = DAY + index;
    if (isCall) await settle(store, [reportedCall(`call_${index}`, amount, { organizationId, createdAt: now })], now);
    else if (amount > 0n) await purchase(store, { organizationId, amount, reference: `pur_${index}` }, now);
  }
}

test("balances as of any moment are what they were then, from entries alone, whatever the accounts say now", async () => {
  const organizations = ["org_1", "org_2"] as const;
  const step = fc.record({
    organizationId: fc.constantFrom(...organizations),
    amount: fc.bigInt({ min: 0n, max: 50n }),
    isCall: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), fc.nat(30), async (steps, moment) => {
      await withStore(async (store) => {
        await play(store, steps);
        for (const organizationId of organizations) {
          const account = await store.get("accounts", organizationAccount(organizationId));
          if (account) await plant(store, "accounts", account.id, { balance: 12_345n });
          const expected = steps
            .slice(0, moment + 1)
            .filter((each) => each.organizationId === organizationId)
            .reduce((sum, { amount, isCall }) => (isCall ? sum - amount : sum + amount), 0n);
          expect(await replayBalance(store, { organizationId, asOf: DAY + moment, signal })).toMatchObject({ balance: expected });
          expect((await checkRollups(store, { organizationId, signal })).difference).toBeUndefined();
        }
      });
    }),
    { numRuns: 40 },
  );
});

test("roll-ups of one organization are compared with its own rows only", () =>
  withLedger(async (store) => {
    await plant(store, "usage", "call_3", "removed");
    expect(await checkRollups(store, { organizationId: "org_1", signal })).toEqual({ rollups: 4, difference: undefined });
    expect((await checkRollups(store, { organizationId: "org_2", signal })).difference).toMatchObject({
      organizationId: "org_2",
      bucketAt: DAY + QUARTER,
      reason: expect.stringContaining("has no rows"),
    });
  }));

/** Version 1 from the start of the day, version 2 an hour later. */
async function addPrices(store: Store, modelId: string, first: PriceInput, second?: PriceInput): Promise<void> {
  await store.transaction("every", async (tx) => {
    await addPrice(tx, modelId, first, DAY);
    if (second) await addPrice(tx, modelId, second, DAY + HOUR);
  });
}

const PER_MILLION = 1_000_000n;
const price = (input: bigint, output: bigint, more: Partial<PriceInput> = {}): PriceInput => ({
  input: input * PER_MILLION,
  output: output * PER_MILLION,
  ...more,
});
type Classes = Omit<UsageRow["usage"], "source" | "total" | "amounts" | "audioOutput" | "cacheWriteHour" | "image">;
const usage = (
  classes: Partial<Classes>,
  other: Pick<UsageRow["usage"], "amounts" | "audioOutput" | "cacheWriteHour" | "image"> = {},
): UsageRow["usage"] => {
  const counts = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0, audio: 0, ...classes };
  return { ...counts, total: Object.values(counts).reduce((sum, count) => sum + count, 0), source: "provider", ...other };
};

async function repriced(store: Store, rows: readonly UsageRow[], pricesAt: number, asOf = DAY + 24 * HOUR) {
  await settle(store, rows);
  const book = new PriceBook(store, NO_GATEWAY_CONFIG);
  return repriceCalls(store, { organizationId: "org_1", asOf, pricesAt, book, signal });
}

async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  const { store, close } = openTestStore();
  await work(store).finally(close);
}

test("calls are priced again by the version in force at the other time, with its classes and tiers", () =>
  withStore(async (store) => {
    const tiers = { tiers: [{ aboveInputTokens: 100, ...price(5n, 7n) }] };
    await addPrices(store, "model_1", price(1n, 2n), price(3n, 4n, { cachedInput: PER_MILLION, tiers }));
    const rows = [
      reportedCall("call_1", 10n + 40n, { usage: usage({ input: 10, output: 15, reasoning: 5 }) }),
      reportedCall("call_2", 30n, { usage: usage({ input: 10, cachedInput: 20 }) }),
      reportedCall("call_3", 201n, { usage: usage({ input: 101, cachedInput: 100 }), createdAt: DAY + 1 }),
      reportedCall("call_4", 0n, { usage: usage({}), status: "error", priceVersion: 0, deploymentId: "" }),
    ];
    const expected = 10n * 3n + 20n * 4n + (10n * 3n + 20n) + 201n * 5n;
    expect(await repriced(store, rows, DAY + HOUR)).toEqual({ charged: 281n, repriced: expected, repricedCalls: 4, keptCalls: 0 });
    // At the time of the first version nothing differs, and a moment before the third call leaves it out.
    expect(await repriced(store, rows, DAY)).toMatchObject({ charged: 281n, repriced: 281n });
    expect(await repriced(store, rows, DAY + HOUR, DAY)).toMatchObject({ charged: 80n, repriced: expected - 1005n, repricedCalls: 3 });
  }));

test("characters, milliseconds, images, searches and sound are priced again from what the row keeps of them", () =>
  withStore(async (store) => {
    const unit = (name: PriceUnit) => ({ unit: name });
    for (const name of ["character", "millisecond", "image", "search"] as const) {
      await addPrices(store, `model_${name}`, price(1n, 2n, unit(name)), price(3n, 5n, unit(name)));
    }
    await addPrices(store, "model_sound", price(1n, 2n, { audioInput: 4n * PER_MILLION, audioOutput: 6n * PER_MILLION }), price(3n, 5n));
    const measured = (name: "character" | "millisecond" | "image" | "search", input: number, output: number) => {
      const fields = { deploymentId: `model_${name}`, model: name, usage: usage({ input: 7 }, { amounts: { [name]: { input, output } } }) };
      return reportedCall(`call_${name}`, BigInt(input + 2 * output), fields);
    };
    const sound = { deploymentId: "model_sound", model: "sound", usage: usage({ input: 1, audio: 10 }, { audioOutput: 4 }) };
    const rows = [
      measured("character", 100, 0),
      measured("millisecond", 2000, 10),
      measured("image", 0, 3),
      measured("search", 1, 0),
      reportedCall("call_sound", 1n + 6n * 4n + 4n * 6n, sound),
    ];
    const expected = 300n + (6000n + 50n) + 15n + 3n + (3n + 18n + 20n);
    expect(await repriced(store, rows, DAY + HOUR)).toMatchObject({ repriced: expected, repricedCalls: 5, keptCalls: 0 });
  }));

test("cache writes that last an hour and web searches are priced again beside the other tokens", () =>
  withStore(async (store) => {
    const own = { cacheWrite: 2n * PER_MILLION, cacheWriteHour: 5n * PER_MILLION, webSearch: 100n * PER_MILLION };
    await addPrices(store, "model_1", price(1n, 2n, own), price(3n, 4n, { ...own, webSearch: 200n * PER_MILLION }));
    const used = usage({ input: 1, cacheWrite: 10 }, { cacheWriteHour: 4, amounts: { search: { input: 2, output: 0 } } });
    const rows = [reportedCall("call_1", 1n + 6n * 2n + 4n * 5n + 200n, { usage: used })];
    expect(await repriced(store, rows, DAY)).toMatchObject({ charged: 233n, repriced: 233n, repricedCalls: 1 });
    expect(await repriced(store, rows, DAY + HOUR)).toMatchObject({ repriced: 3n + 6n * 2n + 4n * 5n + 400n });
  }));

test("calls that cannot be repriced exactly count as charged", () =>
  withStore(async (store) => {
    const unit = (name: PriceUnit) => ({ unit: name });
    await addPrices(store, "model_1", price(1n, 2n), price(3n, 4n));
    await addPrices(store, "model_char", price(1n, 2n, unit("character")), price(3n, 4n));
    await addPrices(store, "model_later", price(1n, 2n), price(3n, 4n, unit("character")));
    const rows = [
      reportedCall("call_sound", 30n, { usage: usage({ input: 10, audio: 10 }) }),
      reportedCall("call_file", 5n, { priceVersion: 0, deploymentId: "config_1" }),
      reportedCall("call_other_version", 50n, { priceVersion: 9 }),
      reportedCall("call_other_cost", 49n),
      reportedCall("call_characters", 17n, { deploymentId: "model_char", model: "speech" }),
      reportedCall("call_unit_changed", 50n, { deploymentId: "model_later", model: "later" }),
      reportedCall("call_cached_answer", 0n, { priceVersion: 0, cacheHit: true }),
    ];
    expect(await repriced(store, rows, DAY + HOUR)).toEqual({ charged: 201n, repriced: 201n, repricedCalls: 0, keptCalls: 7 });
    // Before any version was in force there is nothing to price with.
    expect(await repriced(store, [reportedCall("call_plain", 50n)], DAY - 1)).toMatchObject({ repricedCalls: 0, keptCalls: 8 });
  }));

test("a deployment of the configuration file is priced by the admin's model of its name", () =>
  withStore(async (store) => {
    await addPrices(store, "model_1", price(1n, 2n), price(3n, 4n));
    const times = { createdAt: DAY, updatedAt: DAY };
    await store.transaction("every", (tx) =>
      tx.insert("models", {
        id: "model_1",
        name: "gpt",
        providerId: "prov_1",
        inferenceModelId: "gpt",
        type: "chat",
        description: "",
        status: "active",
        ...times,
      }),
    );
    const row = reportedCall("call_1", 50n, { deploymentId: "config_abc", model: "gpt" });
    expect(await repriced(store, [row], DAY + HOUR)).toEqual({ charged: 50n, repriced: 110n, repricedCalls: 1, keptCalls: 0 });
  }));
