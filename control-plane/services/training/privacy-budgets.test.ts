import { epsilonOfRho, rhoOfRound } from "../../../common/training/privacy-account.ts";
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
async function claimed(
  settings: object,
  participants: { url?: string; dataset?: unknown; inner?: { federationId: string; rounds: number } }[] = [{ url: CLINIC }],
) {
  const request = {
    name: "f",
    teamId: platform.team.id,
    settings: JSON.stringify({ rounds: 1, task: {}, ...settings }),
    participants: participants.map(({ url = "", dataset, inner }) => ({
      ...{ url, inner, join: url === "" && !inner, dataset: dataset === undefined ? "" : JSON.stringify(dataset) },
    })),
    budgetNanoUsd: 0n,
  };
  const id = (await training().createFederation(request, platform.as("owner"))).federation?.id ?? "";
  const { work } = await training().claimFederations(
    { claim: "a", leaseMs: 60_000n, limit: 10, except: [], address: "" },
    platform.as(COORDINATOR),
  );
  const { federation } = await training().getFederation({ id }, platform.as("owner"));
  return { id, work: work.length, state: federation?.state, failure: federation?.failure };
}

const ALLOWED = { work: 1, state: "created", failure: undefined };
const refused = (message: string) => ({
  ...{ work: 0, state: "failed" },
  failure: { code: "QUOTA_EXCEEDED", message: expect.stringContaining(message) },
});

test("no coordinator gets a federation without noise that trains a data set with a budget, whichever participant has it", async () => {
  const settings = { initial: { participant: 0 }, fraction: 0.5, eval: { mode: "none" } };
  const participants = [{ url: CLINIC, dataset: "public" }, { dataset: { name: "patients" } }];
  expect(await claimed(settings, participants)).toMatchObject(ALLOWED);
  await limit("patients");
  expect(await claimed(settings, participants)).toMatchObject(refused('The data set "patients" has a privacy budget'));
  expect(await claimed({ ...settings, secureAggregation: {} }, participants)).toMatchObject(refused("adds no noise"));
  expect(await claimed({ ...settings, initial: undefined, dp }, participants)).toMatchObject(ALLOWED);
});

test("nor are trained initial parameters stored if the budget was set meanwhile", async () => {
  const { id } = await claimed({ initial: { participant: 0 }, eval: { mode: "none" } }, [{ url: CLINIC, dataset: "patients" }]);
  await limit("patients");
  const held = { federationId: id, claim: "a" };
  const refusal = { code: "QUOTA_EXCEEDED", details: [{ path: "dp" }] };
  await expect(training().setInitial({ ...held, blob: "a".repeat(64), start: "" }, platform.as(COORDINATOR))).rejects.toMatchObject(
    refusal,
  );
});

test("a federation whose participant is a federation that would show them is refused, too", async () => {
  const settings = JSON.stringify({
    rounds: 0,
    strategy: { name: "fedavg" },
    task: { dataset: "public" },
    dp,
    eval: { mode: "held_out", dataset: "patients" },
  });
  const inner = {
    name: "inner",
    teamId: platform.team.id,
    settings,
    participants: [{ url: CLINIC, join: false, dataset: "" }],
    budgetNanoUsd: 0n,
  };
  const { federation } = await training().createFederation(inner, platform.as("owner"));
  const one = { inner: { federationId: federation?.id ?? "", rounds: 1 } };
  await limit("patients");
  const outer = { strategy: { name: "fedavg" }, task: { dataset: "public" }, eval: { mode: "held_out", dataset: "digits" } };
  expect(await claimed(outer, [one])).toMatchObject(refused("patients"));
});

test("a budget of a node's own data holds for what a dataset says of it without a name", async () => {
  await limit(CLINIC);
  const none = { eval: { mode: "none" } };
  for (const dataset of [undefined, { table: "patients" }, { partition: { scheme: "iid" } }])
    expect(await claimed(none, [{ url: CLINIC, dataset }])).toMatchObject(refused(CLINIC));
  expect(await claimed(none, [{ url: CLINIC, dataset: [{ a: 1, y: 0 }] }])).toMatchObject(ALLOWED);
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
  expect(await claimed(settings, participants)).toMatchObject(
    outcome === "allowed" ? ALLOWED : refused("the evaluation would show exact figures"),
  );
});

test("a data set with an address of any length has an account, and its budget holds for every signature of the address", async () => {
  const uri = (signature: string) => `https://files.example.org/rows.csv?X-Signature=${signature}`;
  const settings = { dp, eval: { mode: "none" } };
  const { id } = await claimed(settings, [{ url: CLINIC, dataset: { uri: uri("a".repeat(1500)) } }]);
  await training().openRound({ federationId: id, claim: "a", participantIds: ["p1"] }, platform.as(COORDINATOR));
  await limit(uri("b"));
  const { dataSets } = await training().listDataSets({ page: undefined }, platform.as("owner"));
  expect(dataSets).toMatchObject([{ name: "https://files.example.org/rows.csv", rounds: 1n, epsilonBudget: 1 }]);
  const exact = await claimed({ eval: { mode: "none" } }, [{ url: CLINIC, dataset: { uri: uri("c") } }]);
  expect(exact).toMatchObject(refused("rows.csv"));
});

test("what an earlier release counted for whole addresses of a file, and the least of their budgets, holds for the file", async () => {
  const organizationId = platform.team.organizationId;
  const address = (version: number) => `https://files.example.org/rows.csv?version=${version}`;
  await platform.deps.store.transaction("every", async (tx) => {
    for (const [version, epsilonBudget] of [
      [1, 7],
      [2, 3],
    ] as const) {
      const name = address(version);
      const spent = { rho: 0.5, rounds: 2, delta: 1e-5, epsilonBudget, createdAt: 1, updatedAt: 1 };
      await tx.put("dataSets", { id: `${organizationId}/${name}`, organizationId, name, ...spent });
    }
  });
  const participants = [{ url: CLINIC, dataset: { uri: address(3) } }];
  expect(await claimed({ eval: { mode: "none" } }, participants)).toMatchObject(refused("rows.csv"));
  const { dataSet } = await training().setDataSetBudget({ name: address(3), epsilonBudget: 20 }, platform.as("owner"));
  expect(dataSet).toMatchObject({
    name: "https://files.example.org/rows.csv",
    rounds: 4n,
    epsilon: epsilonOfRho(1, 1e-5),
    epsilonBudget: 20,
  });
});

test("nor out of a replay, whose models no round has evaluated, once their rows have a budget", async () => {
  const replay = (id: string) => training().getFederation({ id, replays: true }, platform.as("owner"));
  const participants = [{ url: CLINIC, dataset: "patients" }];
  const sites = await claimed({ rounds: 0, strategy: { name: "fedavg" }, eval: { mode: "sites" } }, participants);
  const none = await claimed({ eval: { mode: "none" } }, participants);
  const own = await claimed({ strategy: { name: "fedavg" }, eval: { mode: "held_out", dataset: "digits" } }, [
    { inner: { federationId: sites.id, rounds: 1 } },
  ]);
  await expect(replay(sites.id)).resolves.toMatchObject({ federation: { id: sites.id } });
  await limit("patients");
  for (const { id } of [sites, own])
    await expect(replay(id)).rejects.toMatchObject({
      code: "QUOTA_EXCEEDED",
      message: expect.stringContaining('"patients" has a privacy budget, and the evaluation would show exact figures'),
    });
  await expect(replay(none.id)).resolves.toMatchObject({ federation: { id: none.id } });
  await expect(training().getFederation({ id: sites.id }, platform.as("owner"))).resolves.toMatchObject({ federation: { id: sites.id } });
});

test("nor out of one at the sites", async () => {
  await limit("digits");
  const settings = { dp, eval: { mode: "sites" }, task: { dataset: "digits" } };
  // Noise covers no figures of sites, so coordinators ask for none.
  expect(await claimed(settings)).toMatchObject(ALLOWED);
  expect(await claimed({ ...settings, dp: undefined })).toMatchObject(refused("digits"));
});

test.each([
  { mode: "central", strategy: "fedavg", factor: 9 },
  { mode: "central", strategy: "fedbuff", factor: 9 },
  { mode: "central", strategy: "median", factor: 1 },
  { mode: "local", strategy: "fedavg", factor: 3 },
])("three uses of the same rows in a round cost $factor times one: $mode noise, $strategy", async ({ mode, strategy, factor }) => {
  const noise = { mode, clipNorm: 1, noiseMultiplier: 2, delta: 1e-5 };
  const settings = { dp: noise, strategy: { name: strategy }, eval: { mode: "none" }, rounds: 2 };
  // The same node three times, with its own data.
  const { id } = await claimed(settings, [{ url: CLINIC }, { url: CLINIC }, { url: CLINIC }]);
  const held = { federationId: id, claim: "a" };
  await training().openRound({ ...held, participantIds: ["p1", "p2", "p3"] }, platform.as(COORDINATOR));
  const account = async () => (await training().listDataSets({ page: undefined }, platform.as("owner"))).dataSets[0];
  expect(await account()).toMatchObject({ name: CLINIC, rounds: 1n, epsilon: epsilonOfRho(factor * rhoOfRound(noise), 1e-5) });
  const failure = { code: "VALIDATION_ERROR", message: "no" };
  await training().endFederation({ ...held, state: "failed", failure }, platform.as(COORDINATOR));
  expect(await account()).toMatchObject({ rounds: 0n, epsilon: 0 });
});
