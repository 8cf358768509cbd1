import { systemClock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Credit } from "../../credit/credit.ts";
import { NO_USAGE } from "../../credit/pricing/usage.ts";
import { openai } from "../../upstream/providers/openai/provider.ts";
import type { StreamPart } from "../../upstream/providers/provider.ts";
import type { Bill, Outcome } from "./bill.ts";
import { Delivery } from "./delivery.ts";
import { chatJob } from "./jobs/chat.ts";
import { createMeter } from "./meter.ts";
import type { StreamBounds } from "./stream-bounds.ts";

const word = (text = "word "): StreamPart => ({ type: "text-delta", choice: 0, text });
const BILL = { usage: NO_USAGE } as Bill;

/** A stream whose first part arrived alone and whose others arrived with one read, unless they are said to come later. */
function delivery({
  read,
  later = [],
  covers = () => true,
}: {
  read: StreamPart[];
  later?: StreamPart[];
  covers?: StreamBounds["covers"];
}) {
  const job = chatJob({ model: "m", stream: true, messages: [{ role: "user", content: "Say it." }] });
  const call = { callId: "call_1", endpoint: "/v1/chat/completions", caller: Caller.fromPartial({}), job };
  const meter = createMeter({ ...call, inputTokens: 8, maxOutputTokens: 4096 }, systemClock);
  const deployment = Deployment.fromPartial({ providerKind: "openai", inferenceModelId: "gpt-4o", params: "{}", info: "{}" });
  const attempt = { deployment, group: "m", isFallback: false };
  meter.servedBy({ attempt, provider: openai }, { retries: 0, fallbacks: 0 });
  const seen = { outcomes: [] as Outcome[], failures: [] as unknown[], notes: 0, received: 0, waits: 0 };
  const settled = {
    meter,
    hasLeft: false,
    get isSettled() {
      return seen.outcomes.length + seen.failures.length > 0;
    },
    waitedSince: () => ++seen.waits,
    settle: async (outcome: Outcome) => {
      seen.outcomes.push(outcome);
      return BILL;
    },
    fail: async (thrown: unknown) => {
      seen.failures.push(thrown);
      return new AppError("SERVER_ERROR", "failed");
    },
  };
  const [first = word(), ...rest] = read;
  const open = {
    first: { done: false as const, value: first },
    next: async () => {
      const value = rest.shift() ?? later.shift();
      return value ? { done: false as const, value } : { done: true as const, value: undefined };
    },
    ready: () => rest.shift(),
    wake: (onArrival: () => void) => {
      const arrived = later.splice(0, 2);
      if (arrived.length === 0) return false;
      void Promise.resolve().then(() => {
        rest.push(...arrived);
        onArrival();
      });
      return true;
    },
    received: () => void seen.received++,
  };
  const credit = { progress: () => void seen.notes++ } as unknown as Credit;
  const bounds = {
    covers,
    isOutOfCredit: true,
    endings: () => [{ type: "finish", choice: 0, reason: "length" }],
  } as unknown as StreamBounds;
  const parts = new Delivery({ clock: systemClock, credit }, { open: open as never, bounds, call: settled });
  return { parts, seen };
}

test("a read is returned in one turn, and after no more than 32 parts of it the journal has a record", async () => {
  const { parts, seen } = delivery({ read: Array.from({ length: 100 }, () => word()) });
  await parts.next();
  const notes: number[] = [];
  for (let part = parts.ready(); part; part = parts.ready()) notes.push(seen.notes);
  expect(notes).toHaveLength(99);
  expect(notes.every((noted, index) => noted >= Math.floor((index + 2) / 32))).toBe(true);
  expect(await parts.next()).toEqual({ done: false, value: { type: "settled", bill: BILL } });
  expect([await parts.next(), seen.outcomes]).toEqual([{ done: true, value: undefined }, [{ status: "success", isCutShort: false }]]);
});

test("a reader is woken by each read, whose wait is not the gateway's time, and the end is left to next", async () => {
  const { parts, seen } = delivery({ read: [word("a"), word("b")], later: [word("c"), word("d"), word("e")] });
  const texts: unknown[] = [];
  expect(parts.wake(() => {})).toBe(false);
  await parts.next();
  const drain = () => {
    for (let part = parts.ready(); part; part = parts.ready()) texts.push(part);
  };
  drain();
  await new Promise<void>((resolve) => {
    const woken = () => {
      drain();
      if (!parts.wake(woken)) resolve();
    };
    expect(parts.wake(woken)).toBe(true);
  });
  expect([texts, seen.received, seen.waits]).toEqual([[word("b"), word("c"), word("d"), word("e")], 2, 2]);
  expect(await parts.next()).toMatchObject({ value: { type: "settled" } });
  expect(parts.wake(() => {})).toBe(false);
});

test("a bound that is reached within a read ends the stream there, whether it is known at once or later", async () => {
  for (const verdict of [false, Promise.resolve(false)]) {
    let covered = 0;
    const { parts, seen } = delivery({ read: [word(), word(), word(), word()], covers: () => (++covered <= 2 ? true : verdict) });
    await parts.next();
    expect([parts.ready(), parts.ready()]).toEqual([word(), undefined]);
    expect(await parts.next()).toMatchObject({ value: { type: "finish", reason: "length" } });
    expect(await parts.next()).toMatchObject({ value: { type: "settled" } });
    expect(seen.outcomes).toEqual([{ status: "success", isCutShort: true }]);
  }
});

test("a part that needs more credit waits for it and is then delivered, once", async () => {
  const { parts, seen } = delivery({
    read: [word("a"), word("b"), word("c")],
    covers: (part) => (part === undefined ? false : Promise.resolve(true)),
  });
  const texts: unknown[] = [];
  for (let next = await parts.next(); !next.done && next.value.type !== "settled"; next = await parts.next()) {
    texts.push(next.value);
    expect(parts.ready()).toBeUndefined();
  }
  expect([texts, seen.outcomes]).toEqual([[word("a"), word("b"), word("c")], [{ status: "success", isCutShort: false }]]);
});

test("a client that disconnects within a read pays as a cancelled call, once", async () => {
  const { parts, seen } = delivery({ read: [word(), word(), word()], later: [word()] });
  await parts.next();
  parts.ready();
  await parts.return();
  await parts.return();
  expect([await parts.next(), parts.ready(), seen.outcomes]).toEqual([
    { done: true, value: undefined },
    undefined,
    [{ status: "cancelled" }],
  ]);
});

test("an error within a read is thrown by next and fails the call, not the reader", async () => {
  let covered = 0;
  const covers = () => {
    if (++covered > 1) throw new Error("cannot be counted");
    return true as const;
  };
  const { parts, seen } = delivery({ read: [word(), word()], covers });
  await parts.next();
  expect(parts.ready()).toBeUndefined();
  await expect(parts.next()).rejects.toThrow("failed");
  expect([seen.failures.map(String), seen.outcomes]).toEqual([["Error: cannot be counted"], []]);
});
