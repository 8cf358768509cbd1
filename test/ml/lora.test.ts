import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { within } from "../contract/support.ts";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { federationWhen, mlEnvironment, startPythonParticipant } from "../helpers/federations.ts";
import { type System, startSystem } from "../helpers/system.ts";

// examples/lora.py with real transformers and peft: `make test-ml` makes the Python that this needs.
const run = promisify(execFile);
const python = process.env["ML_PYTHON"];
const withPython = python === undefined ? test.skip : test;
const WHY = python === undefined ? " (ML_PYTHON names no Python with transformers and peft; `make test-ml` makes one)" : "";
const root = resolve(import.meta.dirname, "../..");
const program = join(root, "examples/lora.py");
const PARTICIPANTS = 3;
const ROUNDS = 4;
const MAX_MS = 170_000;
/** The base model, the participants' start, the training, a call and PEFT's reading. */
const STEPS = 5;

let system: System;
let tenant: Tenant;
let environment: Readonly<Record<string, string>>;
/** Beside the test, so that a test that fails leaves none behind. */
let participants: Awaited<ReturnType<typeof startPythonParticipant>>[] = [];
const stopParticipants = () => Promise.all(participants.splice(0).map(({ stop }) => stop()));
beforeAll(async () => {
  if (python === undefined) return;
  system = await startSystem({ trainer: true, coordinator: true, env: { COORDINATOR_LEASE_MS: "1000", COORDINATOR_POLL_MS: "50" } });
  tenant = await newTenant(system, { name: "lora", creditNano: 1_000_000_000 });
  environment = { ...mlEnvironment(system.folder), HF_HUB_OFFLINE: "1" };
});
afterAll(async () => {
  await stopParticipants();
  await system?.stop();
});

const example = async (...args: string[]) => {
  const env = { PATH: process.env["PATH"], PYTHONPATH: join(root, "sdk/python/src"), ...environment };
  return (await run(python as string, [program, ...args], { env, timeout: MAX_MS })).stdout;
};

withPython(
  `a LoRA adapter is trained by three participants, published and called, downloaded and loaded by PEFT; the base model stays with them${WHY}`,
  async () => {
    const base = join(system.folder, "base");
    await example("base", base);
    participants = await Promise.all(
      Array.from({ length: PARTICIPANTS }, (_, index) =>
        startPythonParticipant({
          python: python as string,
          program: [program, "join", base, "--part", `${index}/${PARTICIPANTS}`],
          env: environment,
        }),
      ),
    );
    const addresses = participants.map(({ url }) => ({ url }));
    const body = { task: { name: "lora" }, rounds: ROUNDS, participants: addresses, eval: { mode: "sites" } };
    const { body: created } = await call(system.url, "POST", "/training/federations", { token: tenant.token, body });
    const { federation } = created;
    const done = await federationWhen(system, { token: tenant.token, id: federation.id, withinMs: MAX_MS });
    expect(done).toMatchObject({ state: "completed", head: { round: ROUNDS }, failure: null });
    const published = await call(system.url, "POST", `/training/federations/${federation.id}/publish`, {
      ...{ token: tenant.token, body: { model: "animals" } },
    });
    expect([published.status, published.body.version?.servedBy]).toEqual([201, ["p1", "p2", "p3"]]);
    const messages = [{ role: "user", content: "3 cats say " }];
    // One call asks its nodes for up to a minute, and each loads the model first.
    const answer = await within(
      MAX_MS,
      () => call(system.url, "POST", "/v1/chat/completions", { key: tenant.key, body: { model: "animals", messages } }),
      ({ status }) => status === 200,
    );
    const said: string = answer.body.choices[0].message.content;
    expect(said).toMatch(/^[ -~]{1,24}$/);
    await stopParticipants();
    const adapter = join(system.folder, "adapter.safetensors");
    const downloaded = await fetch(`${system.url}/training/federations/${federation.id}/parameters?format=safetensors`, {
      headers: { authorization: `Bearer ${tenant.token}` },
    });
    expect(downloaded.status).toBe(200);
    writeFileSync(adapter, Buffer.from(await downloaded.arrayBuffer()));
    const loaded = JSON.parse(await example("load", base, adapter, "--out", join(system.folder, "adapter")));
    process.stdout.write(
      `lora: loss ${loaded.base_loss.toFixed(3)} without the adapter, ${loaded.loss.toFixed(3)} with it; published, "3 cats say " is answered "${said}"\n`,
    );
    expect(loaded.loss).toBeLessThan(loaded.base_loss - 0.4);
    // What PEFT loads is the model that the federation evaluated.
    const { body: rounds } = await call(system.url, "GET", `/training/federations/${federation.id}/rounds`, { token: tenant.token });
    expect(loaded.loss).toBeCloseTo(rounds.data.at(-1).metrics.evaluate.loss, 4);
    expect(loaded.accuracy).toBeCloseTo(done.head.accuracy, 4);
  },
  STEPS * MAX_MS,
);
