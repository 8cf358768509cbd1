import { AppError } from "../../../common/errors.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom } from "../../../common/random.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock, settleWork } from "../../access/clock-fixture.ts";
import type { RunCall } from "../inference/run-call.ts";
import { embedWith } from "./embed-text.ts";

function open(run: RunCall) {
  const [clock, problems] = [fakeClock(), new Map<string, string>()];
  const embed = embedWith(run, { clock, random: systemRandom, logger: silentLogger, timeoutMs: 1000, problems });
  const call = { callId: "call_1", caller: {} as Caller, signal: new AbortController().signal };
  return { clock, problems, embed: (model = "m") => embed({ model, text: "a" }, call) };
}

test("a vector that never comes is given up at the deadline, also when its call does not obey", async () => {
  const { clock, embed } = open(() => new Promise(() => {}));
  let ended: unknown = "waits";
  const embedding = embed().then((vector) => {
    ended = vector;
  });
  await clock.advance(999);
  expect(ended).toBe("waits");
  await clock.advance(1);
  await embedding;
  expect(ended).toBeUndefined();
});

test("an embedding model that cannot be used is in the log once, until it can", async () => {
  let error: AppError | undefined = new AppError("MODEL_NOT_FOUND", "The model m does not exist.");
  const answered = { type: "answer", head: { fallbacks: 0 }, answer: { vectors: [[1, 0]] } };
  const { embed, problems } = open((async () => {
    if (error) throw error;
    return answered;
  }) as unknown as RunCall);
  const warnings = jest.spyOn(silentLogger, "warn").mockClear();
  await embed();
  await embed();
  expect([warnings.mock.calls.length, problems.get("m")]).toEqual([1, "The model m does not exist."]);
  error = new AppError("UPSTREAM_UNAVAILABLE", "Later.");
  await embed("other");
  expect([warnings.mock.calls.length, problems.has("other")]).toEqual([1, false]);
  error = undefined;
  expect(await embed()).toEqual([1, 0]);
  await settleWork();
  expect(problems.size).toBe(0);
});
