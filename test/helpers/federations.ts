import { spawn } from "node:child_process";
import { on, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { call } from "./api.ts";
import { freePort, type ServiceProcess, startProcess } from "./processes.ts";
import type { System } from "./system.ts";

const root = resolve(import.meta.dirname, "../..");

/** A trainer node as a separate process. */
export async function startTrainer(env: Readonly<Record<string, string>> = {}): Promise<{ url: string; process: ServiceProcess }> {
  const process = startProcess({
    entry: "trainer-node/main.ts",
    name: "participant",
    env: { TRAINER_PORT: "0", TRAINER_THREADS: "1", ...env },
  });
  const { port } = await process.ready;
  return { url: `http://127.0.0.1:${port}`, process };
}

/** A participant of the Python SDK, which needs only the standard library; by default from source, else as it is installed. */
export async function startPythonParticipant(
  given: { program?: readonly string[]; python?: string; cwd?: string; env?: Readonly<Record<string, string>>; isInstalled?: true } = {},
): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const { program = [resolve(root, "test/helpers/python-participant.py")], python = process.env["TEST_PYTHON"] ?? "python3", cwd } = given;
  const source = given.isInstalled ? {} : { PYTHONPATH: resolve(root, "sdk/python/src") };
  const child = spawn(python, program, {
    env: { PATH: process.env["PATH"], ...source, TRAINER_PORT: String(port), ...given.env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ["ignore", "ignore", "pipe"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  let said = "";
  for await (const [chunk] of on(child.stderr, "data", { close: ["end"] })) {
    said += String(chunk);
    if (said.includes("ready on")) break;
  }
  // It goes on writing: a pipe that nobody reads would end its functions.
  child.stderr.resume();
  if (!said.includes("ready on")) throw new Error(`the Python participant did not start: ${said.slice(-1000)}`);
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** For participants with heavy packages. Three processes with a thread for each core wait for each other more than they train. */
export function mlEnvironment(folder: string): Readonly<Record<string, string>> {
  return {
    FLWR_TELEMETRY_ENABLED: "0",
    OMP_NUM_THREADS: "1",
    PYTHONPYCACHEPREFIX: process.env["PYTHONPYCACHEPREFIX"] ?? folder,
  };
}

/** A participant like FLock's SDK: one route, JSON, no /v1/info unless given. `parameters` is the response to every training call. */
export async function startFlockParticipant(answers: {
  parameters: () => Uint8Array;
  aggregate?: () => Uint8Array;
  info?: object;
  port?: number;
}): Promise<{ url: string; methods: string[]; stop(): Promise<void> }> {
  const methods: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url !== "/call" || request.method !== "POST") return answerOther(request, response, answers.info);
    const { method } = JSON.parse(Buffer.concat(chunks).toString()) as { method: string };
    methods.push(method);
    const bytes = method === "aggregate" ? answers.aggregate?.() : answers.parameters();
    const answer = method === "evaluate" ? { accuracy: 0.5 } : { parameters: Buffer.from(bytes ?? []).toString("base64") };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  server.listen(answers.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    methods,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function answerOther({ url }: IncomingMessage, response: ServerResponse, info: object | undefined): void {
  if (url === "/v1/info" && info) response.end(JSON.stringify(info));
  else response.writeHead(url === "/call" ? 405 : 404, { "content-type": "text/html" }).end("<!doctype html>");
}

const OVER = ["completed", "failed", "stopped"];
const LOOK_MS = 50;

/** Polls a federation until it satisfies the condition; the error contains its last state. */
export async function federationWhen(
  system: Pick<System, "url">,
  { token, id, isDone = ({ state }) => OVER.includes(state), withinMs = 30_000 }: FederationWait,
): Promise<ReturnType<typeof JSON.parse>> {
  const until = Date.now() + withinMs;
  for (;;) {
    const { body } = await call(system.url, "GET", `/training/federations/${id}`, { token });
    if (body.federation && isDone(body.federation)) return body.federation;
    if (Date.now() > until) throw new Error(`not within ${withinMs} ms: ${JSON.stringify(body)}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

interface FederationWait {
  token: string;
  id: string;
  isDone?: (federation: ReturnType<typeof JSON.parse>) => boolean;
  withinMs?: number;
}
