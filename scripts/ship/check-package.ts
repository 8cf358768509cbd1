import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildPackage } from "../package/build-package.ts";

const PORTS = { PORT: "14000", CONTROL_PORT: "14100", TRAINER_PORT: "15000", COORDINATOR_PORT: "15100" };
const KEY = "sk-of-the-package-check";
const READY_MAX_MS = 120_000;

/** Installs the archive with npm in a clean folder, from the registry, starts it by npx and makes the first call. */
export async function checkInstalledPackage(root: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-installed-"));
  try {
    buildPackage(root, join(folder, "package"));
    const npm = (...options: string[]) =>
      execFileSync("npm", options, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const archive = npm("pack", "--silent", join(folder, "package")).trim();
    rmSync(join(folder, "package"), { recursive: true });
    npm("install", "--no-audit", "--no-fund", "--prefer-offline", join(folder, archive));
    return `${archive}: ${await answerOf(folder)}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function answerOf(folder: string): Promise<string> {
  const env = { ...process.env, ...PORTS, EDGES: "1", MASTER_KEY: KEY };
  const child = spawn("npx", ["tributary"], { cwd: folder, env, stdio: "ignore", detached: true });
  const ended = once(child, "exit");
  try {
    const deadline = Date.now() + READY_MAX_MS;
    while (!(await isReady())) {
      if (Date.now() > deadline || child.exitCode !== null) throw new Error("npx tributary does not become ready");
      await sleep(200);
    }
    return await firstCall();
  } finally {
    // npx starts the program as a child, so the signal goes to the group.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    await ended;
  }
}

const isReady = () =>
  fetch(`http://127.0.0.1:${PORTS.PORT}/health/readiness`).then(
    ({ ok }) => ok,
    () => false,
  );

async function firstCall(): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${PORTS.PORT}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "echo", messages: [{ role: "user", content: "hello" }] }),
  });
  const text = await response.text();
  if (!response.ok || !text.includes('"content":"hello"')) throw new Error(`the first call is answered with ${response.status}: ${text}`);
  return "the first call is answered";
}
