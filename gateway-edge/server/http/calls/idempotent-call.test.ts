import { silentLogger } from "../../../../common/logger.ts";
import { fakeClock } from "../../../access/clock-fixture.ts";
import { beginIdempotentCall, type IdempotentCall, type IdempotentDeps } from "./idempotent-call.ts";

const INPUT = { key: "once", keyId: "key_1", callId: "call_1", endpoint: "/v1/responses", body: Buffer.from("{}"), pathModel: undefined };
const MINUTE_MS = 60_000;

/** Requests to the control plane, in order; `answer` makes the next one wait. */
async function begin() {
  const clock = fakeClock();
  const asked: string[] = [];
  let answered: Promise<void> | undefined;
  const ask = (name: string) => async (request: { callId: string }) => {
    asked.push(`${name} ${request.callId}`);
    await answered;
    asked.push(`${name} answered`);
    return { answer: undefined };
  };
  const access = { beginIdempotentCall: ask("begin"), endIdempotentCall: ask("end") } as unknown as IdempotentDeps["access"];
  const call = (await beginIdempotentCall({ access, clock, logger: silentLogger }, INPUT)) as IdempotentCall;
  asked.length = 0;
  const wait = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answered = promise;
    return resolve;
  };
  return { clock, asked, call, wait };
}

test("a call that runs for an hour keeps its key reserved, and asks for nothing more when it has ended", async () => {
  const { clock, asked, call } = await begin();
  await clock.advance(60 * MINUTE_MS);
  expect(asked.filter((name) => name === "begin call_1").length).toBeGreaterThanOrEqual(6);
  await call.close();
  asked.length = 0;
  await clock.advance(60 * MINUTE_MS);
  expect([asked, clock.waiting()]).toEqual([[], 0]);
});

test("the key is freed after a renewal that is on its way, which would reserve it again", async () => {
  const { clock, asked, call, wait } = await begin();
  const answer = wait();
  await clock.advance(5 * MINUTE_MS);
  const closed = call.close();
  expect(call.goesOn).toBe(true);
  await clock.advance(0);
  expect(asked).toEqual(["begin call_1"]);
  answer();
  await closed;
  expect(asked).toEqual(["begin call_1", "begin answered", "end call_1", "end answered"]);
  expect(call.goesOn).toBe(false);
});
