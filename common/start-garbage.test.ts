import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** A process whose start left 60 MB of garbage in the old generation, and which then works for BUSY of its time. It reports its heap when asked. */
const PROGRAM = `
const { collectStartGarbage } = await import(${JSON.stringify(pathToFileURL(resolve("common/start-garbage.ts")).href)});
let left = Array.from({ length: 1_000_000 }, (_, index) => ({ index, text: [index] }));
left = undefined;
collectStartGarbage();
setInterval(() => { const untilMs = performance.now() + 50 * Number(process.env.BUSY); while (performance.now() < untilMs); }, 50);
process.on("message", (message) => { if (message.type === "heap") process.send(process.memoryUsage().heapUsed / 1e6); });
process.send("ready");
`;

let folder: string;
const started: ChildProcess[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-garbage-"));
  writeFileSync(join(folder, "program.mjs"), PROGRAM);
});
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Its heap in MB when it is ready, and a function that asks for it. */
async function start(busy: number): Promise<{ child: ChildProcess; heap: () => Promise<number> }> {
  const child = fork(join(folder, "program.mjs"), {
    env: { PATH: process.env["PATH"], BUSY: String(busy) },
    execArgv: ["--no-memory-reducer"],
  });
  started.push(child);
  await once(child, "message");
  const heap = async () => {
    const answer = once(child, "message");
    child.send({ type: "heap" });
    return Number((await answer)[0]);
  };
  return { child, heap };
}

const untilLooked = () => new Promise((done) => setTimeout(done, 100));

test("what a start has left is collected when all processes are ready, but not in a process that works already", async () => {
  const [idle, busy] = [await start(0), await start(0.5)];
  const before = [await idle.heap(), await busy.heap()] as [number, number];
  for (const { child } of [idle, busy]) child.send({ type: "all-ready" });
  const endMs = performance.now() + 30_000;
  while ((await idle.heap()) > before[0] / 2 && performance.now() < endMs) await untilLooked();
  expect(await idle.heap()).toBeLessThan(before[0] / 2);
  // It got the message at the same time, and had more than the same time.
  await untilLooked();
  expect(await busy.heap()).toBeGreaterThan(before[1] / 2);
}, 60_000);

test("without the message nothing is collected", async () => {
  const { heap } = await start(0);
  const before = await heap();
  for (let looked = 0; looked < 10; looked++) await untilLooked();
  expect(await heap()).toBeGreaterThan(before / 2);
});
