import { openPlatform, type Platform } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform({ ALLOW_PRIVATE_NODES: "true" });
});
afterEach(() => platform.close());

const COORDINATOR = "anonymous" as const;
const CLINIC = "http://127.0.0.1:5900";
const dp = { mode: "central", clipNorm: 1, noiseMultiplier: 1e6, delta: 1e-5 };

const training = () => trainingHandlers(platform.deps);
const limit = (name: string) => training().setDataSetBudget({ name, epsilonBudget: 1 }, platform.as("owner"));

/** Creates a federation, and claims it as a coordinator does. */
async function claimed(settings: object, participants: { url?: string; dataset?: unknown }[] = [{ url: CLINIC }]) {
  const request = {
    name: "f",
    teamId: platform.team.id,
    settings: JSON.stringify({ rounds: 1, task: {}, ...settings }),
    participants: participants.map(({ url = "", dataset }) => ({
      ...{ url, join: url === "", dataset: dataset === undefined ? "" : JSON.stringify(dataset) },
    })),
    budgetNanoUsd: 0n,
  };
  const id = (await training().createFederation(request, platform.as("owner"))).federation?.id ?? "";
  const { work } = await training().claimFederations(
    { claim: "a", leaseMs: 60_000n, limit: 10, except: [], address: "" },
    platform.as(COORDINATOR),
  );
  const { federation } = await training().getFederation({ id }, platform.as("owner"));
  return { work: work.length, state: federation?.state, failure: federation?.failure };
}

const ALLOWED = { work: 1, state: "created", failure: undefined };
const refused = (message: string) => ({
  ...{ work: 0, state: "failed" },
  failure: { code: "QUOTA_EXCEEDED", message: expect.stringContaining(message) },
});

test("no coordinator gets a federation without noise that trains a data set with a budget, whichever participant has it", async () => {
  const settings = { initial: { participant: 0 }, fraction: 0.5, eval: { mode: "none" } };
  const participants = [{ url: CLINIC, dataset: "public" }, { dataset: { name: "patients" } }];
  expect(await claimed(settings, participants)).toEqual(ALLOWED);
  await limit("patients");
  expect(await claimed(settings, participants)).toEqual(refused('The data set "patients" has a privacy budget'));
  expect(await claimed({ ...settings, secureAggregation: {} }, participants)).toEqual(refused("adds no noise"));
  expect(await claimed({ ...settings, initial: undefined, dp }, participants)).toEqual(ALLOWED);
});

test("a budget of a node's own data holds for what a dataset says of it without a name", async () => {
  await limit(CLINIC);
  const none = { eval: { mode: "none" } };
  for (const dataset of [undefined, { table: "patients" }, { partition: { scheme: "iid" } }])
    expect(await claimed(none, [{ url: CLINIC, dataset }])).toEqual(refused(CLINIC));
  expect(await claimed(none, [{ url: CLINIC, dataset: [{ a: 1, y: 0 }] }])).toEqual(ALLOWED);
});

test.each<[string, object, "refused" | "allowed"]>([
  ["its training rows", { eval: { mode: "held_out", dataset: { name: "digits", split: "train" } } }, "refused"],
  ["all its rows", { eval: { mode: "held_out", dataset: { name: "digits", split: "all" } } }, "refused"],
  [
    "its training rows, by a federation with noise on others",
    { dp, eval: { mode: "held_out", dataset: { name: "digits", split: "train" } } },
    "refused",
  ],
  ["rows of a name that only nodes know", { eval: { mode: "held_out", dataset: "hospital" } }, "refused"],
  ["rows that the nodes have of their own", { eval: { mode: "held_out" } }, "refused"],
  ["a table of them", { eval: { mode: "held_out", dataset: { table: "patients" } } }, "refused"],
  ["its test rows", { eval: { mode: "held_out", dataset: "digits" } }, "allowed"],
  ["other rows", { eval: { mode: "held_out", dataset: "moons" } }, "allowed"],
  ["nothing", { eval: { mode: "none" } }, "allowed"],
])("exact figures of a data set with a budget do not come out of an evaluation either: of %s", async (_rows, settings, outcome) => {
  for (const name of ["digits", "hospital", CLINIC]) await limit(name);
  const participants = [{ url: CLINIC, dataset: "public" }];
  expect(await claimed(settings, participants)).toEqual(
    outcome === "allowed" ? ALLOWED : refused("the evaluation would show exact figures"),
  );
});

test("nor out of one at the sites", async () => {
  await limit("digits");
  const settings = { dp, eval: { mode: "sites" }, task: { dataset: "digits" } };
  // Noise covers no figures of sites, so coordinators ask for none.
  expect(await claimed(settings)).toEqual(ALLOWED);
  expect(await claimed({ ...settings, dp: undefined })).toEqual(refused("digits"));
});
