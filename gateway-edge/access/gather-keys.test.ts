import { systemClock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { Caller, type ResolveKeyRequest, ResolveKeyResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import { gatherKeys } from "./gather-keys.ts";

const keyOf = (number: number) => Buffer.alloc(32, number);
const answerTo = (sha256: Buffer) =>
  ResolveKeyResponse.fromPartial({ caller: Caller.fromPartial({ keyId: `key_${sha256[0]}` }), revision: 1n });

function controlPlane(answer: (request: ResolveKeyRequest) => ResolveKeyResponse) {
  const requests: ResolveKeyRequest[] = [];
  const deadlines: number[] = [];
  const resolveKey = async (request: ResolveKeyRequest, { deadlineMs }: { deadlineMs: number }) => {
    requests.push(request);
    deadlines.push(deadlineMs);
    return answer(request);
  };
  return { resolve: gatherKeys({ access: { resolveKey }, clock: systemClock }), requests, deadlines };
}

const answerAll = ({ secretSha256, more }: ResolveKeyRequest) => ({ ...answerTo(secretSha256), more: more.map(answerTo) });

test("look-ups that come together are one RPC with the least of their deadlines, and each has its own answer", async () => {
  const { resolve, requests, deadlines } = controlPlane(answerAll);
  const answers = await Promise.all([1, 2, 3].map((number) => resolve(keyOf(number), { deadlineMs: 1000 * number })));
  expect(answers.map(({ caller }) => caller?.keyId)).toEqual(["key_1", "key_2", "key_3"]);
  expect(requests.map(({ more }) => more.length)).toEqual([2]);
  expect(deadlines).toEqual([1000]);
});

test("a control plane of the release before, which answers the first one only, is asked for each of the others", async () => {
  const { resolve, requests } = controlPlane(({ secretSha256 }) => answerTo(secretSha256));
  const answers = await Promise.all([1, 2, 3].map((number) => resolve(keyOf(number), { deadlineMs: 1000 })));
  expect(answers.map(({ caller }) => caller?.keyId)).toEqual(["key_1", "key_2", "key_3"]);
  expect(requests.map(({ secretSha256, more }) => [secretSha256[0], more.length])).toEqual([
    [1, 2],
    [2, 0],
    [3, 0],
  ]);
});

test("an RPC that fails is the error of each of its look-ups, and the next one begins anew", async () => {
  let isDown = true;
  const { resolve } = controlPlane((request) => {
    if (isDown) throw new AppError("UNAVAILABLE", "no");
    return answerAll(request);
  });
  const outcomes = await Promise.allSettled([1, 2].map((number) => resolve(keyOf(number), { deadlineMs: 1000 })));
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isDown = false;
  expect((await resolve(keyOf(1), { deadlineMs: 1000 })).caller?.keyId).toBe("key_1");
});
