import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const training = () => trainingHandlers(platform.deps);
const create = (who: Who, budgetNanoUsd: bigint) => {
  const participants = [{ url: "", join: true, dataset: "" }];
  const settings = JSON.stringify({ rounds: 1, task: {} });
  return training().createFederation({ name: "f", teamId: platform.team.id, settings, participants, budgetNanoUsd }, platform.as(who));
};
const outcomes = async (budgetNanoUsd: bigint) => ({
  owner: await outcomeOf(create("owner", budgetNanoUsd)),
  manager: await outcomeOf(create("manager", budgetNanoUsd)),
  lead: await outcomeOf(create("lead", budgetNanoUsd)),
});
const ALL = { owner: "ok", manager: "ok", lead: "ok" };

/** Sets a budget on a record. */
async function limit(kind: "teams" | "organizations" | "users", of?: Who): Promise<void> {
  const { team, organization, users } = platform;
  const record = { teams: team, organizations: organization, users: users[of as "lead"] }[kind];
  await platform.deps.store.transaction("every", async (tx) => {
    await tx.put(kind, { ...((await tx.get(kind, record.id as never)) as never as object), maxBudget: 1_000n } as never);
  });
}

// A budget bounds calls, and what rounds pay may go to any organization: somebody bounded by one could move all credit out.
test.each(["teams", "organizations"] as const)(
  "who is bounded by a budget of %s has no federation pay; managers, who set it, do",
  async (kind) => {
    expect(await outcomes(5n)).toEqual(ALL);
    await limit(kind);
    expect(await outcomes(5n)).toEqual({ ...ALL, lead: "FORBIDDEN" });
    expect(await outcomes(0n)).toEqual(ALL);
  },
);

test("a user with a budget, which the platform's admins set, has none pay as a manager either", async () => {
  await limit("users", "manager");
  expect(await outcomes(5n)).toEqual({ ...ALL, manager: "FORBIDDEN" });
  await expect(create("manager", 5n)).rejects.toThrow("Your account has a budget");
});

test("nor does a federation that was created before the budget go on paying by one whom it bounds", async () => {
  const { federation } = await create("lead", 5n);
  await limit("teams");
  const extend = (who: Who) => training().controlFederation({ id: federation?.id ?? "", action: "extend", rounds: 2 }, platform.as(who));
  await expect(extend("lead")).rejects.toThrow("The team has a budget");
});
