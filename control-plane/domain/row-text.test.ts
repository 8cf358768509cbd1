import fc from "fast-check";
import { USAGE_STATUSES } from "../../common/usage-status.ts";
import { USAGE_ROW_FIELDS } from "./records.ts";
import { type ReportedRow, rowText } from "./row-text.ts";

const text = fc.string({ unit: "binary", maxLength: 6 });
const few = fc.constantFrom("a", "b", 'quo"te', "é\u2028", "\ud800");
const count = fc.nat(2 ** 45);
const usage = fc.record(
  {
    input: count,
    cachedInput: count,
    cacheWrite: count,
    output: count,
    reasoning: count,
    audio: count,
    total: count,
    source: few,
    image: few,
  },
  { requiredKeys: ["input", "cachedInput", "cacheWrite", "output", "reasoning", "audio", "total", "source"] },
);
const attempt = fc.record(
  { deploymentId: few, provider: few, status: fc.nat(600), errorText: text, latencyMs: count },
  { requiredKeys: ["latencyMs"] },
);

/** In the order in which edges' reports become rows: the order of `USAGE_ROW_FIELDS`. */
const FIELDS: { readonly [Name in keyof Required<ReportedRow>]: fc.Arbitrary<unknown> } = {
  id: text,
  createdAt: fc.oneof(count, fc.constantFrom(Number.NaN, 0)),
  completedAt: fc.oneof(count, fc.constant(Number.NaN)),
  organizationId: few,
  teamId: few,
  teamName: few,
  apiKeyId: few,
  apiKeyName: few,
  maskedKey: few,
  userId: fc.nat(2),
  endUser: few,
  endpoint: few,
  model: few,
  deploymentId: few,
  provider: few,
  type: few,
  stream: fc.boolean(),
  status: fc.constantFrom(...USAGE_STATUSES),
  httpStatus: fc.constantFrom(200, 499),
  errorCode: few,
  usage,
  priceVersion: count,
  cacheHit: fc.boolean(),
  attempts: fc.nat(9),
  fallbackFrom: few,
  latencyMs: fc.integer(),
  firstTokenMs: fc.integer(),
  overheadUs: fc.integer(),
  tags: fc.array(text, { maxLength: 3 }),
  onceFor: few,
  providerModel: few,
  attemptsDetail: fc.array(attempt, { maxLength: 2 }),
  reserved: count,
  reason: text,
  refused: count,
};
const OPTIONAL = [
  "userId",
  "endUser",
  "errorCode",
  "fallbackFrom",
  "firstTokenMs",
  "onceFor",
  "providerModel",
  "attemptsDetail",
  "reserved",
  "reason",
  "refused",
];

const rows = fc.record(FIELDS, { requiredKeys: Object.keys(FIELDS).filter((name) => !OPTIONAL.includes(name)) as never[] }).map((row) => {
  const given = row as Record<string, unknown>;
  return Object.fromEntries(Object.keys(FIELDS).flatMap((name) => (name in given ? [[name, given[name]]] : []))) as unknown as ReportedRow;
});

test("every field of a row that its report has is covered, in the order of rows", () => {
  const unreported = ["cost", "contentHash", "ledgerSeq", "reportedCost"];
  expect(Object.keys(FIELDS)).toEqual(USAGE_ROW_FIELDS.filter((name) => !unreported.includes(name)));
});

test("the text of a row is that of JSON.stringify, whatever the rows before it had in common with it", () => {
  const changes = fc.array(fc.tuple(rows, fc.subarray(Object.keys(FIELDS))), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(rows, changes, (first, steps) => {
      let row = first;
      expect(rowText(row)).toBe(JSON.stringify(row));
      for (const [other, names] of steps) {
        const from = (name: string) => (names.includes(name) ? other : row) as unknown as Record<string, unknown>;
        row = Object.fromEntries(
          Object.keys(FIELDS).flatMap((name) => (name in from(name) ? [[name, from(name)[name]]] : [])),
        ) as unknown as ReportedRow;
        expect(rowText(row)).toBe(JSON.stringify(row));
      }
    }),
    { numRuns: 500 },
  );
});
