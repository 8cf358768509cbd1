import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const READY_MAX_MS = 90_000;

/** Waits until an edge answers; fails with what the process wrote if it ends before. */
export async function untilReady(url: string, child: ChildProcess): Promise<void> {
  let written = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      written = (written + text).slice(-4000);
    });
  }
  const deadline = Date.now() + READY_MAX_MS;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`ended with code ${child.exitCode}: ${written}`);
    if (await isReady(url)) return;
    await sleep(50);
  }
  throw new Error(`not ready after ${READY_MAX_MS} ms: ${written}`);
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health/readiness`)).ok;
  } catch {
    return false;
  }
}

/** The first call of the README: what the model echo answers. */
export async function firstCall(url: string, key: string): Promise<string> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "echo", messages: [{ role: "user", content: "hello" }] }),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? "";
}
