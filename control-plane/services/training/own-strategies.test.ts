import { sourceHash } from "../../../common/strategies/shared/own-strategy.ts";
import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const source = "def aggregate(updates, context): ...";
const training = () => trainingHandlers(platform.deps);
const create = (who: Who, changes: object = {}) =>
  training().createStrategy({ name: "mine", language: "python", source, ...changes }, platform.as(who));
const namesFor = async (who: Who) =>
  (await training().listStrategies({}, platform.as(who))).strategies.map(({ name }: { name: string }) => name);

test("managers create a strategy, which their organization reads and others do not know of", async () => {
  expect(await create("owner")).toMatchObject({ strategy: { name: "mine", language: "python", source, sha256: sourceHash(source) } });
  expect(await platform.outcomes((_context, who) => training().getStrategy({ name: "mine" }, platform.as(who)))).toEqual({
    ...{ anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", stranger: "NOT_FOUND" },
    ...{ owner: "ok", manager: "ok", lead: "ok", member: "ok", colleague: "ok" },
  });
  expect([await namesFor("member"), await namesFor("stranger"), await namesFor("anonymous")]).toEqual([["mine"], [], []]);
  expect(await outcomeOf(create("member", { name: "other" }))).toBe("FORBIDDEN");
  expect(await outcomeOf(training().deleteStrategy({ name: "mine" }, platform.as("member")))).toBe("FORBIDDEN");
  expect(await outcomeOf(training().deleteStrategy({ name: "mine" }, platform.as("stranger")))).toBe("NOT_FOUND");
  await training().deleteStrategy({ name: "mine" }, platform.as("owner"));
  expect(await namesFor("owner")).toEqual([]);
});

test("a name is taken by a built-in strategy, or once; a source is not empty and of a known language", async () => {
  await create("owner");
  expect(await outcomeOf(create("owner"))).toBe("ALREADY_EXISTS");
  expect(await outcomeOf(create("owner", { name: "krum" }))).toBe("ALREADY_EXISTS");
  for (const wrong of [
    { name: "Mine!" },
    { name: "b", source: "" },
    { name: "b", language: "ruby" },
    { name: "b", source: "x".repeat(65_537) },
  ])
    expect(await outcomeOf(create("owner", wrong))).toBe("VALIDATION_ERROR");
});

test("an exposed deployment has own strategies only if its operator says so", async () => {
  await platform.close();
  const exposed = { TRUST_PROXY: "10.0.0.1" };
  platform = await openPlatform(exposed);
  await expect(create("owner")).rejects.toThrow("OWN_STRATEGIES=true");
  await platform.close();
  platform = await openPlatform({ ...exposed, OWN_STRATEGIES: "true" });
  expect(await outcomeOf(create("owner"))).toBe("ok");
});

test("a federation's own strategy is shown by the hash of its source, and the coordinator gets all of it", async () => {
  const settings = JSON.stringify({ rounds: 1, task: {}, strategy: { name: "mine", lr: 2, own: { language: "python", source } } });
  const request = {
    name: "f",
    teamId: platform.team.id,
    settings,
    participants: [{ url: "", join: true, dataset: "" }],
    budgetNanoUsd: 0n,
  };
  const { federation } = await training().createFederation(request, platform.as("owner"));
  const shown = { name: "mine", lr: 2, own: { language: "python", sha256: sourceHash(source) } };
  expect(JSON.parse(federation?.settings ?? "{}").strategy).toEqual(shown);
  const listed = await training().listFederations({ page: undefined }, platform.as("owner"));
  expect(JSON.stringify(listed.federations.map((one: { settings: string }) => one.settings))).not.toContain("def aggregate");
  const work = await training().getWork({ federationId: federation?.id ?? "" }, platform.as("anonymous"));
  expect(work.federation?.settings).toBe(settings);
});
