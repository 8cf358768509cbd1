import { buffer } from "node:stream/consumers";
import { AppError } from "../../../../common/errors.ts";
import { silentLogger } from "../../../../common/logger.ts";
import { systemRandom } from "../../../../common/random.ts";
import type { StoredAnswer } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock } from "../../../access/clock-fixture.ts";
import { createMemoryRecords } from "../../../stored/records/memory-records-fixture.ts";
import { beginIdempotentCall, type IdempotentCall, type IdempotentDeps } from "./idempotent-call.ts";
import { readLargeAnswer } from "./large-answers.ts";

const OWNER = { teamId: "team_1", organizationId: "org_1", keyId: "key_1" };
const INPUT = { key: "once", owner: OWNER, callId: "call_1", endpoint: "/v1/responses", body: Buffer.from("{}"), pathModel: undefined };
const MINUTE_MS = 60_000;

/** Requests to the control plane, in order; `answer` makes the next one wait. */
async function begin() {
  const clock = fakeClock();
  const records = createMemoryRecords({ clock, callerOf: () => undefined });
  const asked: string[] = [];
  let answered: Promise<void> | undefined;
  const ended: (StoredAnswer | undefined)[] = [];
  const ask = (name: string) => async (request: { callId: string; answer?: StoredAnswer | undefined }) => {
    asked.push(`${name} ${request.callId}`);
    if (name === "end") ended.push(request.answer);
    await answered;
    asked.push(`${name} answered`);
    return { answer: undefined };
  };
  const access = { beginIdempotentCall: ask("begin"), endIdempotentCall: ask("end") } as unknown as IdempotentDeps["access"];
  const call = (await beginIdempotentCall({ access, records, clock, random: systemRandom, logger: silentLogger }, INPUT)) as IdempotentCall;
  asked.length = 0;
  const wait = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answered = promise;
    return resolve;
  };
  return { clock, asked, ended, call, wait, records };
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

const MIBIBYTE = 1024 * 1024;

test("an answer that is too large for a message is content of the team, which only the sealed answer opens", async () => {
  const { call, ended, records } = await begin();
  const body = Buffer.alloc(3 * MIBIBYTE, "secret");
  call.record(body.subarray(0, MIBIBYTE));
  call.record(body.subarray(MIBIBYTE));
  await call.store([], "text/plain");
  const content = ended[0]?.content;
  if (!content) throw new Error("the answer has no content");
  const found = await records.getContent(OWNER.teamId, content.id);
  if (!found) throw new Error("the content is not the team's");
  const stored = await buffer(found);
  expect([stored.length, stored.includes("secret"), ended[0]?.body.length]).toEqual([body.length, false, 0]);
  expect((await buffer(await readLargeAnswer(records, OWNER.teamId, content))).equals(body)).toBe(true);
  const other = { ...content, tag: Buffer.alloc(16) };
  await expect(buffer(await readLargeAnswer(records, OWNER.teamId, other))).rejects.toThrow();
});

test("an answer for which the organization has no room frees the key", async () => {
  const { call, ended, records } = await begin();
  records.putContent = async () => {
    throw new AppError("PAYLOAD_TOO_LARGE", "The organization's files are full.");
  };
  call.record(Buffer.alloc(2 * MIBIBYTE));
  await call.store([], "text/plain");
  expect(ended).toEqual([undefined]);
});

test("an answer of more than 64 MiB is not held, and frees the key", async () => {
  const { call, ended } = await begin();
  for (let piece = 0; piece < 65; piece++) call.record(Buffer.alloc(MIBIBYTE));
  expect(call.goesOn).toBe(false);
  await call.store([], "text/plain");
  expect(ended).toEqual([undefined]);
});
