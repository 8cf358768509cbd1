import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type CountingProxy, openCountingProxy } from "../../test/helpers/counting-proxy.ts";
import { startTrainer } from "../../test/helpers/federations.ts";
import { freePort, type ServiceProcess } from "../../test/helpers/processes.ts";
import { print } from "./print-curve.ts";

const run = promisify(execFile);
const NODES = 8;
const ATTACKERS = 3;
const MEMBERS = 10;
const PACKAGES = ["numpy==2.2.6", "flock-sdk==0.0.3"];
const TRAIN_ROWS = 1437;

export interface Member {
  readonly proxy: CountingProxy;
  /** Sent with every call; absent if the participant has its own data. */
  readonly dataset?: object;
}

export interface Crowd {
  readonly members: readonly Member[];
  readonly kinds: readonly string[];
  stop(): Promise<void>;
}

/** Eight trainer nodes, three of them attackers, a participant of our Python SDK and one of FLock's; without Python, nodes replace them. */
export async function startCrowd({ root, digits }: { root: string; digits: readonly string[] }): Promise<Crowd> {
  const python = await preparePython(root);
  const nodeCount = python === undefined ? MEMBERS : NODES;
  const nodes: Awaited<ReturnType<typeof startTrainer>>[] = [];
  // One after the other, because ten processes that start at once on a small machine all start late.
  while (nodes.length < nodeCount) nodes.push(await startTrainer());
  const folder = mkdtempSync(join(tmpdir(), "tributary-crowd-"));
  const children: ChildProcess[] = [];
  const members: Member[] = [];
  for (const [index, { url }] of nodes.entries()) {
    // The first participant evaluates, so it is honest.
    const isAttacker = index > 0 && index <= ATTACKERS;
    const proxy = await openCountingProxy(url, isAttacker ? { tamper: poison } : {});
    members.push({ proxy, dataset: { name: "digits", partition: { scheme: "iid", index, of: MEMBERS } } });
  }
  for (let index = nodeCount; index < MEMBERS; index++) {
    const rows = digits.slice(0, TRAIN_ROWS).filter((_, row) => row % MEMBERS === index);
    const file = join(folder, `rows-${index}.json`);
    writeFileSync(
      file,
      JSON.stringify(rows.map((line) => [...line].map((digit, at) => (at < 64 ? Number.parseInt(digit, 17) / 16 : Number(digit))))),
    );
    const port = await freePort();
    const more = index === MEMBERS - 1 ? ["--flock"] : [];
    children.push(startPython({ python: python ?? "", root, words: ["--rows", file, "--port", String(port), ...more] }));
    members.push({ proxy: await openCountingProxy(await answering(`http://127.0.0.1:${port}`)) });
  }
  return {
    members,
    kinds: python === undefined ? [`${MEMBERS} trainer nodes`] : [`${NODES} trainer nodes`, "1 of the Python SDK", "1 of flock-sdk"],
    stop: async () => {
      for (const { proxy } of members) proxy.close();
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(nodes.map(({ process }: { process: ServiceProcess }) => process.kill9()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The update negated and scaled: the safetensors header stays, every float is multiplied. */
function poison(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  const start = 8 + Number(changed.readBigUInt64LE(0));
  for (let at = start; at + 4 <= changed.length; at += 4) changed.writeFloatLE(changed.readFloatLE(at) * -6, at);
  return changed;
}

async function preparePython(root: string): Promise<string | undefined> {
  const folder = join(root, ".cache/federated");
  const python = join(folder, "bin/python");
  const works = () => run(python, ["-c", "import numpy, flock_sdk"], { timeout: 60_000 });
  try {
    await works().catch(async () => {
      print("creating .cache/federated with numpy and flock-sdk (once)");
      await run("python3", ["-m", "venv", "--clear", folder], { timeout: 120_000 });
      await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", ...PACKAGES], {
        timeout: 300_000,
      });
      await works();
    });
    return python;
  } catch (error) {
    print(`NO PYTHON PARTICIPANTS, trainer nodes replace them: ${String(error).slice(0, 300)}`);
    return undefined;
  }
}

function startPython({ python, root, words }: { python: string; root: string; words: readonly string[] }): ChildProcess {
  const child = spawn(python, [join(root, "examples/digits_participant.py"), ...words], {
    env: { PATH: process.env["PATH"], PYTHONPATH: join(root, "sdk/python/src") },
    stdio: ["ignore", "ignore", "ignore"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  return child;
}

/** Resolves once the URL responds. */
async function answering(url: string): Promise<string> {
  for (let tries = 0; tries < 300; tries++) {
    const isThere = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isThere) return url;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no server answers at ${url}`);
}
