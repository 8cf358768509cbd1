import fc from "fast-check";
import { SettleRequest } from "../../proto/gen/tributary/access/v1/access.ts";
import { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import { SharedTexts } from "./shared-texts.ts";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 80 }),
  fc.string({ maxLength: 80 }),
  fc.constantFrom("", "org_1", "team_0123456789abcdefghijklmnopqrstuvwx", "é".repeat(20), "x".repeat(64), "x".repeat(65), "\ufeffmark"),
  // Of one length, with one other character anywhere.
  fc
    .tuple(fc.integer({ min: 1, max: 12 }), fc.nat(11))
    .map(([length, at]) => `${"y".repeat(at % length)}z${"y".repeat(length - 1 - (at % length))}`),
);
const logs = fc
  .record({ callId: text, organizationId: text, teamName: text, model: text, tags: fc.array(text, { maxLength: 3 }), reason: text })
  .map((log) => UsageLog.fromPartial(log));

test("a batch is read as the generated reader reads it", () => {
  fc.assert(
    fc.property(fc.array(logs, { maxLength: 12 }), text, (given, edgeId) => {
      const request = SettleRequest.fromPartial({ settlements: given.map((log) => ({ log })), edgeId });
      const bytes = Buffer.from(SettleRequest.encode(request).finish());
      expect(SettleRequest.decode(new SharedTexts(bytes))).toEqual(SettleRequest.decode(bytes));
    }),
  );
});

test("bytes that are no message are refused as by the generated reader, and nothing beyond their end is read", () => {
  const outcome = (read: () => SettleRequest) => {
    try {
      return read();
    } catch (error) {
      return String(error);
    }
  };
  const whole = Buffer.from(
    SettleRequest.encode(SettleRequest.fromPartial({ settlements: [{ log: { callId: "call_1" } }], edgeId: "e1" })).finish(),
  );
  const broken = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    fc.nat(whole.length).map((length) => whole.subarray(0, length)),
    fc
      .tuple(fc.nat(whole.length - 1), fc.nat(255))
      .map(([at, byte]) => Buffer.from(whole.map((known, index) => (index === at ? byte : known)))),
  );
  fc.assert(
    fc.property(broken, (bytes) => {
      expect(outcome(() => SettleRequest.decode(new SharedTexts(bytes)))).toEqual(outcome(() => SettleRequest.decode(bytes)));
    }),
    { numRuns: 2000 },
  );
});

test("a repeated text is one string: what a batch repeats takes memory once", () => {
  const id = `org_${"0".repeat(33)}`;
  const request = SettleRequest.fromPartial({ settlements: Array.from({ length: 1000 }, () => ({ log: { organizationId: id } })) });
  const reader = new SharedTexts(Buffer.from(SettleRequest.encode(request).finish()));
  const decodings = jest.spyOn(Buffer.prototype, "toString");
  try {
    expect(SettleRequest.decode(reader).settlements.every(({ log }) => log?.organizationId === id)).toBe(true);
    expect(decodings.mock.calls.length).toBe(1);
  } finally {
    decodings.mockRestore();
  }
});
