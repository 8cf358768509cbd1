import { systemClock as clock } from "../../../common/clock.ts";
import { createJoinedWork, type JoinedTask } from "./joined-work.ts";
import type { ParticipantTask } from "./participants.ts";

const NODE = { url: "join:fed_1/p1", secret: "", token: "", tenantId: "org_1" };
const TASK: ParticipantTask = { parameters: "aa", dataset: null, config: {}, key: "fed_1/1/p1", roundId: "fed_1/1", clientId: "p1" };

/** The task that the participant gets. */
async function given(operation: "train" | "evaluate", task: ParticipantTask): Promise<JoinedTask | undefined> {
  const work = createJoinedWork({ clock });
  const ended = new AbortController();
  const { signal } = ended;
  const result = work.participants[operation](NODE, task, signal);
  const found = await work.next("fed_1/p1", { waitMs: 1000, signal, capabilities: new Set() });
  ended.abort();
  await expect(result).rejects.toBe(signal.reason);
  return found;
}

test("an evaluation has the same id after a restart, and another if the round has other parameters by then", async () => {
  const id = (await given("evaluate", TASK))?.id;
  expect((await given("evaluate", { ...TASK }))?.id).toBe(id);
  expect((await given("evaluate", { ...TASK, parameters: "bb" }))?.id).not.toBe(id);
  expect((await given("train", TASK))?.id).not.toBe(id);
});
