import { call } from "./api.ts";
import { type ServiceProcess, startProcess } from "./processes.ts";
import type { System } from "./system.ts";

/** A trainer node as a process of its own. */
export async function startTrainer(env: Readonly<Record<string, string>> = {}): Promise<{ url: string; process: ServiceProcess }> {
  const process = startProcess({
    entry: "trainer-node/main.ts",
    name: "participant",
    env: { TRAINER_PORT: "0", TRAINER_THREADS: "1", ...env },
  });
  const { port } = await process.ready;
  return { url: `http://127.0.0.1:${port}`, process };
}

const OVER = ["completed", "failed", "stopped"];
const LOOK_MS = 50;

/** A federation once it satisfies a test; fails with what it was last. */
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
