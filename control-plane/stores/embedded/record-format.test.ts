import fc from "fast-check";
import { Packr } from "msgpackr";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { UsageRow } from "../../domain/records.ts";
import { usageContentHash } from "../../domain/settlement.ts";
import { usageRow } from "../../services/usage/messages.ts";
import { decode, encode } from "./record-format.ts";

const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const counts = fc.bigInt({ min: 0n, max: 1_000_000n });

/** What an edge reports of a call, with and without each of what a call may lack. */
const logs: fc.Arbitrary<UsageLog> = fc
  .record({
    input: counts,
    output: counts,
    cost: fc.bigInt({ min: 0n, max: 2n ** 62n }),
    userId: maybe(counts),
    endUser: maybe(fc.string()),
    errorCode: maybe(fc.string()),
    fallbackFrom: maybe(fc.string()),
    firstTokenMs: maybe(fc.nat()),
    onceFor: maybe(fc.string()),
    providerModel: maybe(fc.string()),
    reserved: maybe(counts),
    attemptsDetail: fc.array(
      fc.record({
        deploymentId: fc.string(),
        provider: fc.string(),
        status: maybe(fc.nat()),
        errorText: maybe(fc.string()),
        latencyMs: fc.nat(),
      }),
    ),
    tags: fc.array(fc.string(), { maxLength: 3 }),
    stream: fc.boolean(),
  })
  .map(({ input, output, ...rest }) => ({
    ...rest,
    callId: "call_1",
    createdAt: new Date(1_760_000_000_000),
    completedAt: new Date(1_760_000_000_500),
    organizationId: "org_1",
    teamId: "team_1",
    teamName: "a team",
    apiKeyId: "key_1",
    apiKeyName: "a key",
    maskedKey: "sk-...1234",
    endpoint: "/v1/chat/completions",
    model: "echo",
    deploymentId: "model_1",
    provider: "echo",
    type: "chat",
    status: "success",
    httpStatus: 200,
    usage: { input, cachedInput: 0n, cacheWrite: 0n, output, reasoning: 0n, audio: 0n, total: input + output, source: "provider" },
    priceVersion: 1,
    cacheHit: false,
    attempts: 1,
    latencyMs: 5,
    overheadUs: 300,
  }));

test("a call's row is read as it was written, field by field in its order: its hash can be made again", () => {
  fc.assert(
    fc.property(logs, maybe(fc.nat()), (log, ledgerSeq) => {
      const row: UsageRow = { ...usageRow(log), ...(ledgerSeq === undefined ? {} : { ledgerSeq }) };
      const read = decode("usage", encode("usage", row));
      expect(read).toStrictEqual(row);
      const { contentHash, ledgerSeq: _, ...content } = read;
      expect(usageContentHash(content)).toBe(contentHash);
    }),
  );
});

test("an entry with and without a note is read as it was written", () => {
  const entry = { id: 7, reference: "call_1", type: "usage", organizationId: "org_1", from: "org:org_1", to: "revenue" } as const;
  for (const note of [{}, { note: "a grant" }]) {
    const whole = { ...entry, amount: 2n ** 60n, balanceAfter: -5n, ...note, createdAt: 1_760_000_000_000, hash: "ab" };
    expect(decode("ledger", encode("ledger", whole))).toEqual(whole);
  }
});

test("rows that an earlier version wrote with the names of their fields are read", () => {
  const packr = new Packr({ useRecords: false, int64AsType: "bigint" });
  const entry = { id: 7, reference: "call_1", type: "usage", amount: 2n ** 60n };
  expect(decode("ledger", packr.pack(entry))).toEqual(entry);
});
