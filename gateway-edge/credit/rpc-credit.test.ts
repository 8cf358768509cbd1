import { AppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import { fakeClock, settleWork } from "../access/clock-fixture.ts";
import { type CreditLimits, createRpcCredit } from "./rpc-credit.ts";

const log = (callId: string) => UsageLog.fromPartial({ callId, cost: 5n, status: "success" });
const input = { callId: "call_1", keyId: "k", teamId: "t", organizationId: "o", userId: 7n, model: "m", worstCase: 10n, tokens: 3 };

function open(limits: Partial<CreditLimits> = {}) {
  const clock = fakeClock();
  const state = {
    settled: [] as string[],
    attempts: 0,
    released: [] as string[],
    errors: [] as object[],
    failure: undefined as AppError | undefined,
  };
  const attempt = async () => {
    state.attempts++;
    if (state.failure) throw state.failure;
  };
  const access = {
    reserve: async () => {
      await attempt();
      return { reserved: 10n, rate: undefined };
    },
    settle: async (request: { settlements: { log?: UsageLog | undefined }[] }) => {
      await attempt();
      state.settled.push(request.settlements[0]?.log?.callId ?? "");
      return { settled: 1n, repeatedBefore: 0n };
    },
    release: async ({ callId }: { callId: string }) => {
      state.released.push(callId);
      return {};
    },
  };
  const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: (fields) => void state.errors.push(fields) };
  return { clock, state, credit: createRpcCredit({ access, clock, logger, edgeId: "edge-0", limits }) };
}

const down = new AppError("UNAVAILABLE", "down");

test("a settlement is tried until it succeeds, while its client waits", async () => {
  const { clock, state, credit } = open();
  state.failure = down;
  let done = false;
  const settled = credit.settle(log("call_1")).then(() => (done = true));
  await clock.advance(3000);
  expect([done, credit.pending()]).toEqual([false, 1]);
  state.failure = undefined;
  await clock.advance(1000);
  await settled;
  expect([state.settled, credit.pending()]).toEqual([["call_1"], 0]);
});

test("after 15 s the client goes on and the settlement is kept; the end waits for it", async () => {
  const { clock, state, credit } = open();
  state.failure = down;
  const first = credit.settle(log("call_1"));
  const second = credit.settle(log("call_2"));
  await clock.advance(15_000);
  await Promise.all([first, second]);
  expect(credit.pending()).toBe(2);
  let drained = false;
  void credit.drained().then(() => (drained = true));
  // One loop tries, not one for each call.
  const before = state.attempts;
  await clock.advance(10_000);
  expect(state.attempts - before).toBeLessThan(20);
  expect(drained).toBe(false);
  state.failure = undefined;
  await clock.advance(2000);
  expect([state.settled, drained]).toEqual([["call_1", "call_2"], true]);
});

test("with the queue full no new call is admitted", async () => {
  const { clock, state, credit } = open({ pendingMax: 1 });
  state.failure = down;
  void credit.settle(log("call_1"));
  await settleWork();
  state.failure = undefined;
  await expect(credit.reserve(input)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await clock.advance(1000);
  await expect(credit.reserve(input)).resolves.toMatchObject({ reserved: 10n });
});

test("a settlement refused for its content is an alarm, not a loop", async () => {
  const { state, credit } = open();
  state.failure = new AppError("IDEMPOTENCY_CONFLICT", "settled before with another cost");
  await credit.settle(log("call_1"));
  expect([state.attempts, credit.pending(), state.errors.length]).toEqual([1, 0, 1]);
});

test("a reservation nobody knows the end of is given back; a refusal needs nothing", async () => {
  const { state, credit } = open();
  state.failure = new AppError("DB_TIMEOUT", "late");
  await expect(credit.reserve(input)).rejects.toMatchObject({ code: "DB_TIMEOUT" });
  await settleWork();
  expect(state.released).toEqual(["call_1"]);
  state.failure = new AppError("QUOTA_EXCEEDED", "no credit");
  await expect(credit.reserve({ ...input, callId: "call_2" })).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  await settleWork();
  expect(state.released).toEqual(["call_1"]);
});
