import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProcess } from "./processes.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-processes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string, source: string): string {
  const path = join(folder, name);
  writeFileSync(path, source);
  return path;
}

test("a service is started, reports, and is stopped with its output available", async () => {
  const source =
    'setInterval(() => {}, 1000); process.on("SIGTERM", () => { console.log("bye"); process.exit(0); }); process.send({ type: "ready", port: Number(process.env.PORT) });';
  const service = startProcess({ entry: program("good.ts", source), env: { PORT: "1234" }, name: "good" });
  await expect(service.ready).resolves.toEqual({ type: "ready", port: 1234 });
  expect(service.reports).toHaveLength(1);
  await expect(service.stop()).resolves.toEqual({ code: 0, signal: null });
  expect(service.stdout).toBe("bye\n");
});

test("a service that ends before it is ready says why", async () => {
  const service = startProcess({ entry: program("bad.ts", 'console.error("no luck"); process.exit(78);'), env: {}, name: "bad" });
  await expect(service.ready).rejects.toThrow("no luck");
  await expect(service.exited).resolves.toEqual({ code: 78, signal: null });
});

test("kill9 leaves no time to say anything", async () => {
  const source = 'setInterval(() => {}, 1000); process.send({ type: "ready", port: 1 });';
  const service = startProcess({ entry: program("long.ts", source), env: {}, name: "long" });
  await service.ready;
  await expect(service.kill9()).resolves.toEqual({ code: null, signal: "SIGKILL" });
});
