import fc from "fast-check";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { RowWriter } from "./row-writer.ts";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 100 }),
  fc.string({ maxLength: 300 }),
  fc.constantFrom("", "x".repeat(64), "x".repeat(65), "é".repeat(64), `${"x".repeat(63)}é`, "😀".repeat(100), "\ud800", "x".repeat(5000)),
);
const int32 = fc.oneof(fc.integer(), fc.constantFrom(0, 127, 128, 2 ** 31 - 1, -(2 ** 31), -1));
const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(0n, 127n, 128n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 63n - 1n, -1n, -(2n ** 63n)),
);
const date = fc.date({ noInvalidDate: true, min: new Date(-1e13), max: new Date(1e14) });
const amount = fc.record({ unit: text, input: int64, output: int64 });
const counts = {
  input: int64,
  cachedInput: int64,
  cacheWrite: int64,
  output: int64,
  reasoning: int64,
  audio: int64,
  total: int64,
  source: text,
};
const usage = fc.record(
  {
    ...counts,
    audioOutput: int64,
    cacheWriteHour: int64,
    image: text,
    amounts: fc.record({ amounts: fc.array(amount, { maxLength: 20 }) }),
  },
  { requiredKeys: [] },
);
const attempt = fc.record({ deploymentId: text, provider: text, status: int32, errorText: text, latencyMs: int32 }, { requiredKeys: [] });

const FIELDS: { readonly [Name in keyof Required<UsageLog>]: fc.Arbitrary<unknown> } = {
  callId: text,
  createdAt: date,
  completedAt: date,
  organizationId: text,
  teamId: text,
  teamName: text,
  apiKeyId: text,
  apiKeyName: text,
  maskedKey: text,
  userId: int64,
  endUser: text,
  endpoint: text,
  model: text,
  deploymentId: text,
  provider: text,
  type: text,
  stream: fc.boolean(),
  status: text,
  httpStatus: int32,
  errorCode: text,
  usage,
  cost: int64,
  priceVersion: int32,
  cacheHit: fc.boolean(),
  attempts: int32,
  fallbackFrom: text,
  latencyMs: int32,
  firstTokenMs: int32,
  overheadUs: int32,
  tags: fc.array(text, { maxLength: 4 }),
  ledgerSeq: int64,
  onceFor: text,
  providerModel: text,
  attemptsDetail: fc.array(attempt, { maxLength: 4 }),
  reserved: int64,
  reason: text,
  refused: int64,
  traceparent: text,
};
const logs = fc.record(FIELDS, { requiredKeys: [] }).map((log) => UsageLog.fromPartial(log as Partial<UsageLog>));

test("rows of any content are the bytes of the generated encoder, one after the other", () => {
  const writer = new RowWriter();
  fc.assert(
    fc.property(logs, (log) => {
      UsageLog.encode(log, writer.asWriter);
      const row = writer.take();
      const expected = UsageLog.encode(log).finish();
      expect(row.equals(expected)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("a row stays as it is while others are written", () => {
  const writer = new RowWriter();
  const rowOf = (callId: string) => {
    UsageLog.encode(UsageLog.fromPartial({ callId }), writer.asWriter);
    return writer.take();
  };
  const first = rowOf("call_1");
  rowOf("call_2");
  expect(UsageLog.decode(first).callId).toBe("call_1");
});

test.each([Number.NaN, 0.5, 2 ** 31, -(2 ** 31) - 1])("what the generated encoder refuses is refused: %s", (latencyMs) => {
  const log = { ...UsageLog.fromPartial({}), latencyMs };
  expect(() => UsageLog.encode(log)).toThrow("invalid int32");
  expect(() => UsageLog.encode(log, new RowWriter().asWriter)).toThrow("invalid int32");
});
