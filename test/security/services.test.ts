import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { evidence } from "../helpers/evidence.ts";
import { freePort, startProcess } from "../helpers/processes.ts";

const root = resolve(import.meta.dirname, "../..");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-services-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("S-48: an error that nobody expected", () => {
  const PLANTED = {
    "in a timer": 'process.once("SIGUSR2", () => setTimeout(() => { throw new Error("planted"); }));',
    "in a promise": 'process.once("SIGUSR2", () => { Promise.reject(new Error("planted")); });',
  };
  const SERVICES = [
    ["control-plane/main.ts", "CONTROL_PORT"],
    ["trainer-node/main.ts", "TRAINER_PORT"],
  ] as const;
  const cases = SERVICES.flatMap(([entry, port]) => Object.entries(PLANTED).map(([where, code]) => [where, entry, port, code] as const));

  test.each(cases)("%s of %s is logged, and ends the process with 70", async (_where, entry, port, code) => {
    const service = startProcess({
      entry,
      name: entry,
      env: { [port]: String(await freePort()), DATA_DIR: folder },
      nodeFlags: ["--import", `data:text/javascript,${encodeURIComponent(code)}`],
    });
    try {
      await service.ready;
      process.kill(service.pid, "SIGUSR2");
      expect((await service.exited).code).toBe(70);
      expect(service.stderr).toMatch(/"msg":"ending after an uncaught error"/);
      expect(service.stderr).toContain("Error: planted");
    } finally {
      await service.kill9();
    }
    evidence("S-48", `${entry} ended with 70`);
  });

  test("every service has the last resort", () => {
    for (const entry of ["control-plane/main.ts", "gateway-edge/main.ts", "trainer-node/serve.ts", "trainer-node/coordinator/main.ts"])
      expect(readFileSync(join(root, entry), "utf8")).toMatch(/^\s*onShutdown\(/m);
  });
});

describe("S-51: in production", () => {
  test.each([
    ["without secrets", {}],
    ["with short ones", { SECRET_KEY: "short", ADMIN_PASSWORD: "short", MASTER_KEY: "sk-x" }],
  ])("a control plane %s does not start, and names each of them", async (_what, secrets: Record<string, string>) => {
    const env = { NODE_ENV: "production", CONTROL_PORT: String(await freePort()), DATA_DIR: folder, ...secrets };
    const service = startProcess({ entry: "control-plane/main.ts", name: "control plane", env });
    expect((await service.exited).code).toBe(78);
    for (const name of ["SECRET_KEY", "ADMIN_PASSWORD", "MASTER_KEY"]) expect(service.stderr).toContain(name);
    evidence("S-51", "exit 78, all three secrets named");
  });
});
