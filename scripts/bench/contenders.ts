import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, startProcess } from "../../test/helpers/processes.ts";
import { benchConfig } from "./config-text.ts";
import type { Contender, Stage } from "./contender.ts";
import type { Target } from "./load.ts";
import { startTributary } from "./tributary.ts";

type Start = (stage: Stage) => Promise<Contender | string>;

const CACHE = resolve(import.meta.dirname, "../../.cache");
const READY_MS = 120_000;
const KEY = "sk-bench-key-of-the-gateway";
const none = async () => {};

/** Each starts a gateway, or says why it is absent. */
export const CONTENDERS: Readonly<Record<string, Start>> = {
  nginx: startNginx,
  bare: startBare,
  tributary: (stage) => startTributary(stage),
  portkey: startPortkey,
  litellm: startLiteLlm,
  bifrost: startBifrost,
};

async function startNginx({ folder, upstreamUrl }: Stage): Promise<Contender | string> {
  const program = process.env["NGINX"] ?? "nginx";
  const shown = spawnSync(program, ["-v"], { encoding: "utf8" });
  if (shown.status !== 0) return "not installed (`NGINX` names the program)";
  const port = await freePort();
  const own = join(folder, "nginx");
  mkdirSync(join(own, "temp"), { recursive: true });
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${own}/temp;`).join(" ");
  const text = `daemon off; worker_processes 1; pid ${own}/pid; error_log ${own}/error.log; events { worker_connections 4096; }
http { access_log off; ${paths} upstream one { server ${new URL(upstreamUrl).host}; keepalive 256; }
server { listen 127.0.0.1:${port}; keepalive_requests 1000000; location / { proxy_pass http://one; proxy_http_version 1.1; proxy_set_header connection ""; proxy_buffering off; } } }`;
  writeFileSync(join(own, "nginx.conf"), text);
  const version = /nginx\/(\S+)/.exec(shown.stderr)?.[1] ?? "unknown";
  const url = `http://127.0.0.1:${port}`;
  return startProgram({ name: "nginx", version, url, headers: {} }, [program, "-p", own, "-c", join(own, "nginx.conf")]);
}

async function startBare({ upstreamUrl }: Stage): Promise<Contender> {
  const beganMs = performance.now();
  const child = startProcess({ entry: "scripts/bench/bare-proxy.ts", env: { UPSTREAM: upstreamUrl }, name: "bare" });
  const url = `http://127.0.0.1:${(await child.ready).port}`;
  const startMs = performance.now() - beganMs;
  const stop = async () => void (await child.stop("SIGKILL"));
  return { name: "bare Node + undici", version: process.version, url, headers: {}, startMs, roots: [child.pid], settled: none, stop };
}

async function startPortkey({ upstreamUrl }: Stage): Promise<Contender | string> {
  const folder = join(CACHE, "bench", "node_modules", "@portkey-ai", "gateway");
  if (!existsSync(folder)) return "not installed (`npm install --prefix .cache/bench @portkey-ai/gateway`)";
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  const port = await freePort();
  const headers = { "x-portkey-provider": "openai", "x-portkey-custom-host": `${upstreamUrl}/v1`, authorization: `Bearer ${KEY}` };
  const command = [process.execPath, join(folder, "build", "start-server.js"), `--port=${port}`, "--headless"];
  // Private addresses are refused unless they are listed.
  const env = { TRUSTED_CUSTOM_HOSTS: "127.0.0.1,localhost", NODE_ENV: "production" };
  return startProgram({ name: "Portkey", version, url: `http://127.0.0.1:${port}`, headers }, command, env);
}

async function startLiteLlm({ folder, upstreamUrl }: Stage): Promise<Contender | string> {
  const programs = join(CACHE, "bench-litellm", "bin");
  if (!existsSync(join(programs, "litellm"))) return "not installed (a venv `.cache/bench-litellm` with `litellm[proxy]`)";
  const script = "import importlib.metadata as m; print(m.version('litellm'))";
  const version = spawnSync(join(programs, "python"), ["-c", script], { encoding: "utf8" }).stdout.trim();
  const config = join(folder, "litellm.yaml");
  writeFileSync(config, `${benchConfig(upstreamUrl)}general_settings:\n  master_key: ${KEY}\n`);
  const port = await freePort();
  const headers = { authorization: `Bearer ${KEY}` };
  const command = [join(programs, "litellm"), "--config", config, "--host", "127.0.0.1", "--port", String(port)];
  return startProgram({ name: "LiteLLM", version, url: `http://127.0.0.1:${port}`, headers }, command, {
    LITELLM_LOCAL_MODEL_COST_MAP: "True",
  });
}

async function startBifrost({ folder, upstreamUrl }: Stage): Promise<Contender | string> {
  const program = process.env["BIFROST_BIN"];
  if (!program) return "not given (`BIFROST_BIN` names the program)";
  const own = join(folder, "bifrost");
  mkdirSync(own, { recursive: true });
  const keys = [{ value: KEY, models: ["bench"], weight: 1 }];
  const providers = { openai: { keys, network_config: { base_url: upstreamUrl } } };
  writeFileSync(join(own, "config.json"), JSON.stringify({ providers }));
  const port = await freePort();
  const command = [program, "-app-dir", own, "-host", "127.0.0.1", "-port", String(port)];
  return startProgram({ name: "Bifrost", version: "as given", url: `http://127.0.0.1:${port}`, headers: {} }, command);
}

/** Starts a program and waits until it answers the call that is measured. */
async function startProgram(
  about: Pick<Contender, "name" | "version" | "url" | "headers">,
  [command = "", ...words]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Contender | string> {
  const beganMs = performance.now();
  const child = spawn(command, words, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env } });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-1000);
  });
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill("SIGTERM");
    await ended;
  };
  while (child.exitCode === null && performance.now() - beganMs < READY_MS) {
    if (await answers(about)) {
      return { ...about, startMs: performance.now() - beganMs, roots: [child.pid ?? -1], settled: none, stop };
    }
    await sleep(20);
  }
  await stop();
  return `did not answer within ${READY_MS / 1000} s: ${errors.trim().split("\n").at(-1) ?? ""}`;
}

async function answers({ url, headers }: Target): Promise<boolean> {
  const body = JSON.stringify({ model: "bench", messages: [{ role: "user", content: "a question" }] });
  const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body };
  return fetch(`${url}/v1/chat/completions`, init).then(
    async (answer) => {
      await answer.text();
      return answer.status === 200;
    },
    () => false,
  );
}
