import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { federationWhen, mlEnvironment, startPythonParticipant } from "../helpers/federations.ts";
import { type System, startSystem } from "../helpers/system.ts";

// Unmodified Flower apps in federations of ours: `make test-ml` makes the Python with flwr, torch and scikit-learn that this needs.
const run = promisify(execFile);
const python = process.env["ML_PYTHON"];
const withPython = python === undefined ? test.skip : test;
const WHY = python === undefined ? " (ML_PYTHON names no Python with flwr, torch and scikit-learn; `make test-ml` makes one)" : "";
const PARTICIPANTS = 3;
const MAX_MS = 170_000;
/** The participants' start, the training, two exports and their reading. */
const STEPS = 5;

let system: System;
let tenant: Tenant;
/** Beside the tests, so that one that fails leaves none behind. */
let participants: Awaited<ReturnType<typeof startPythonParticipant>>[] = [];
const stopParticipants = () => Promise.all(participants.splice(0).map(({ stop }) => stop()));
beforeAll(async () => {
  if (python === undefined) return;
  system = await startSystem({ coordinator: true, env: { COORDINATOR_LEASE_MS: "1000", COORDINATOR_POLL_MS: "50" } });
  tenant = await newTenant(system, { name: "flower" });
});
afterAll(async () => {
  await stopParticipants();
  await system?.stop();
});

/** Prints the state and the curves of a run, as MLflow has them. */
const CURVES = `import json, sys
from mlflow.tracking import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
run = client.get_run(sys.argv[2])
curves = {name: [[metric.step, metric.value] for metric in client.get_metric_history(sys.argv[2], name)] for name in run.data.metrics}
print(json.dumps({"status": run.info.status, "params": run.data.params, "curves": curves}))`;

async function exportedCurves(id: string): Promise<ReturnType<typeof JSON.parse>> {
  const store = `sqlite:///${join(system.folder, "mlflow.db")}`;
  const source = join(import.meta.dirname, "../../sdk/python/src");
  const env = { ...process.env, ...mlEnvironment(system.folder), PYTHONPATH: source, GW_TOKEN: tenant.token, GW_API_URL: system.url };
  const python3 = async (...args: string[]) => (await run(python as string, args, { env, timeout: MAX_MS })).stdout;
  const send = () => python3("-m", "tributary_participant.mlflow", id, "--tracking-uri", store);
  const [first, second] = [await send(), await send()];
  // The second export finds the run of the first, and adds nothing to its curves.
  expect(second).toBe(first);
  return JSON.parse(await python3("-c", CURVES, store, first.replace("run ", "").trim()));
}

const APPS = [
  { name: "scikit-learn", folder: "flower_sklearn", rounds: 4, epochs: 5, learned: { name: "train_accuracy", above: 0.3 } },
  { name: "torch", folder: "flower_torch", rounds: 3, epochs: 3, learned: { name: "train_loss", above: 0 } },
];

withPython.each(APPS)(
  `a Flower app of $name joins by a link and trains, with no line changed${WHY}`,
  async ({ name, folder, rounds: count, epochs, learned }) => {
    const body = {
      ...{ task: { name: "digits", config: { "local-epochs": epochs } }, rounds: count, enrollment: "open", minParticipants: PARTICIPANTS },
      ...{ eval: { mode: "sites" } },
    };
    const { body: created } = await call(system.url, "POST", "/training/federations", { token: tenant.token, body });
    const { federation, joinLink } = created;
    participants = await Promise.all(
      Array.from({ length: PARTICIPANTS }, (_, index) =>
        startPythonParticipant({
          python: python as string,
          cwd: join(import.meta.dirname, "../../sdk/python/examples", folder),
          program: ["-m", "tributary_participant.flower", "client_app:app", "--partition", `${index}`, "--partitions", `${PARTICIPANTS}`],
          env: {
            ...{ TRAINER_JOIN_URL: system.url, TRAINER_JOIN_TOKEN: joinLink, DATA_DIR: join(system.folder, folder) },
            ...mlEnvironment(system.folder),
          },
        }),
      ),
    );
    const done = await federationWhen(system, { token: tenant.token, id: federation.id, withinMs: MAX_MS });
    await stopParticipants();
    expect(done).toMatchObject({ state: "completed", head: { round: count }, failure: null });
    expect(done.head.accuracy).toBeGreaterThan(0.9);
    const { body: rounds } = await call(system.url, "GET", `/training/federations/${federation.id}/rounds`, { token: tenant.token });
    const accuracies = rounds.data.map(({ accuracy }: { accuracy: number }) => accuracy.toFixed(3));
    process.stdout.write(`flower, ${name}: accuracy by round ${accuracies.join(", ")}\n`);
    for (const { participants: results } of rounds.data) {
      expect(results).toHaveLength(PARTICIPANTS);
      for (const { state, samples, metrics } of results) {
        expect([state, samples]).toEqual(["accepted", 479]);
        expect(metrics.train[learned.name]).toBeGreaterThan(learned.above);
        expect(metrics.evaluate.loss).toBeGreaterThan(0);
      }
    }
    if (name !== "scikit-learn") return;
    const { status, params, curves } = await exportedCurves(federation.id);
    expect([status, params["strategy.name"]]).toEqual(["FINISHED", "fedavg"]);
    const byRound = (of: (round: (typeof rounds.data)[0]) => number) =>
      rounds.data.map((entry: { round: number }) => [entry.round, of(entry)]);
    expect(curves["accuracy"]).toEqual(byRound(({ accuracy }) => accuracy));
    expect(curves["evaluate/loss"]).toEqual(byRound(({ metrics }) => metrics.evaluate.loss));
    const [{ participantId }] = rounds.data[0].participants;
    const own = ({ participants: results }: { participants: { participantId: string }[] }) =>
      results.find((entry) => entry.participantId === participantId) as unknown as { metrics: { train: Record<string, number> } };
    expect(curves[`${participantId}/train/${learned.name}`]).toEqual(byRound((entry) => own(entry).metrics.train[learned.name] as number));
  },
  STEPS * MAX_MS,
);

withPython(
  `central noise starts from get_parameters of a Flower client, before it has trained${WHY}`,
  async () => {
    const body = {
      ...{ task: { name: "digits", config: { "local-epochs": 1 } }, rounds: 1, eval: { mode: "none" } },
      ...{ enrollment: "open", minParticipants: 1, dp: { mode: "central", clipNorm: 1, noiseMultiplier: 1e-6, delta: 1e-5 } },
    };
    const { body: created } = await call(system.url, "POST", "/training/federations", { token: tenant.token, body });
    const { federation, joinLink } = created;
    participants = [
      await startPythonParticipant({
        python: python as string,
        cwd: join(import.meta.dirname, "../../sdk/python/examples/flower_sklearn"),
        program: ["-m", "tributary_participant.flower", "client_app:app", "--partition", "0", "--partitions", "1"],
        env: {
          ...{ TRAINER_JOIN_URL: system.url, TRAINER_JOIN_TOKEN: joinLink, DATA_DIR: join(system.folder, "flower-noise") },
          ...mlEnvironment(system.folder),
        },
      }),
    ];
    const done = await federationWhen(system, { token: tenant.token, id: federation.id, withinMs: MAX_MS });
    await stopParticipants();
    expect(done).toMatchObject({ state: "completed", failure: null, initialStart: { by: "participant" } });
    const { body: rounds } = await call(system.url, "GET", `/training/federations/${federation.id}/rounds`, { token: tenant.token });
    expect(rounds.data[0].record).toMatchObject({ base: done.initialParameters, start: done.initialStart });
  },
  2 * MAX_MS,
);
