import { AppError } from "../../common/errors.ts";
import { toErrorInfo } from "../../common/grpc/status.ts";
import type { ReserveManyRequest, ReserveRequest } from "../../proto/gen/tributary/access/v1/access.ts";
import { gatherReservations } from "./gather.ts";

const OPTIONS = { deadlineMs: 1000 };
const reservation = (callId: string): ReserveRequest => ({
  callId,
  keyId: "k",
  teamId: "t",
  organizationId: "o",
  model: "m",
  worstCase: 5n,
  tokens: 1n,
  edgeId: "e",
  isGrowth: false,
  aheadRequests: 0n,
  aheadTokens: 0n,
  aheadParallel: 0,
});

function open() {
  const batches: string[][] = [];
  const state = { refused: new Set<string>(), over: new Set<string>(), alone: [] as string[], failure: undefined as AppError | undefined };
  const access = {
    reserve: async ({ callId }: ReserveRequest) => {
      state.alone.push(callId);
      if (state.refused.has(callId)) throw new AppError("RATE_LIMIT_EXCEEDED", "still no");
      return { reserved: BigInt(callId.length), rate: undefined };
    },
    reserveMany: async ({ reservations }: ReserveManyRequest) => {
      batches.push(reservations.map(({ callId }) => callId));
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (state.failure) throw state.failure;
      const outcomes = reservations.map(({ callId }) =>
        state.refused.has(callId) || state.over.has(callId)
          ? {
              outcome: { $case: "refused" as const, value: toErrorInfo(new AppError("QUOTA_EXCEEDED", "no")) },
              isPerhapsOver: state.over.has(callId),
            }
          : { outcome: { $case: "reserved" as const, value: { reserved: BigInt(callId.length), rate: undefined } }, isPerhapsOver: false },
      );
      return { outcomes };
    },
  };
  return { reserve: gatherReservations(access), batches, state };
}

test("calls that come together go together, and what comes meanwhile goes with the next; each gets its own answer", async () => {
  const { reserve, batches, state } = open();
  state.refused.add("bb");
  const first = ["a", "bb", "ccc"].map((id) =>
    reserve(reservation(id), OPTIONS).then(
      ({ reserved }) => reserved,
      (error: AppError) => error.code,
    ),
  );
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const second = reserve(reservation("dddd"), OPTIONS);
  expect(await Promise.all(first)).toEqual([1n, "QUOTA_EXCEEDED", 3n]);
  expect((await second).reserved).toBe(4n);
  expect(batches).toEqual([["a", "bb", "ccc"], ["dddd"]]);
});

test("a call that is refused because of what may be over asks once more by itself, and the others of its batch do not wait for it", async () => {
  const { reserve, state } = open();
  for (const id of ["over", "still"]) state.over.add(id);
  state.refused.add("still");
  state.refused.add("no");
  const codes = ["a", "over", "still", "no"].map((id) =>
    reserve(reservation(id), OPTIONS).then(
      ({ reserved }) => reserved,
      ({ code, message }: AppError) => `${code} ${message}`,
    ),
  );
  expect(await Promise.all(codes)).toEqual([1n, 4n, "RATE_LIMIT_EXCEEDED still no", "QUOTA_EXCEEDED no"]);
  expect(state.alone).toEqual(["over", "still"]);
});

test("a failed connection fails every call of the batch, and the next batch is tried all the same", async () => {
  const { reserve, state } = open();
  state.failure = new AppError("UNAVAILABLE", "down");
  const outcomes = await Promise.allSettled(["a", "b"].map((id) => reserve(reservation(id), OPTIONS)));
  expect(outcomes).toMatchObject([{ reason: { code: "UNAVAILABLE" } }, { reason: { code: "UNAVAILABLE" } }]);
  state.failure = undefined;
  expect((await reserve(reservation("c"), OPTIONS)).reserved).toBe(1n);
});

test("a thousand calls at once are cut into batches, and none is lost", async () => {
  const { reserve, batches } = open();
  const ids = Array.from({ length: 1000 }, (_, index) => `call_${index}`);
  const answers = await Promise.all(ids.map((id) => reserve(reservation(id), OPTIONS)));
  expect(answers.map(({ reserved }) => reserved)).toEqual(ids.map((id) => BigInt(id.length)));
  expect(batches.length).toBe(5);
});
