import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, type ServiceProcess, startProcess } from "../../helpers/processes.ts";

const UNHEALTHY_AFTER_MS = 1_000;
let folder = "";
let coordinator: ServiceProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-coordinator-"));
});

afterEach(async () => {
  await coordinator?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("a coordinator that cannot reach the control plane", () => {
  test("warns once, not at every poll, and its /health turns to 503 with the reason", async () => {
    const url = await startAlone();
    const first = await fetch(`${url}/health`);
    expect([first.status, await first.json()]).toEqual([200, { status: "ok" }]);
    const turned = await untilStatus(`${url}/health`, 503);
    expect(turned).toEqual({
      status: "unhealthy",
      reason: expect.stringContaining("No federation can be claimed: The control plane"),
      since: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      failedClaims: expect.any(Number),
    });
    // Polls are 20 ms apart: without the limit there would be a line for each.
    expect(turned["failedClaims"]).toBeGreaterThan(5);
    const warnings = `${coordinator?.stdout}${coordinator?.stderr}`
      .split("\n")
      .filter((line) => line.includes("no federation could be claimed"));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0] ?? "")).toMatchObject({ level: "warn", failures: 1, control: expect.stringContaining("127.0.0.1:") });
  });

  test("gives its errors the request id of the header: its own, or the caller's", async () => {
    const url = await startAlone();
    const own = await fetch(`${url}/nothing-here`);
    expect(own.status).toBe(404);
    const id = own.headers.get("x-request-id");
    expect(id).toMatch(/^req_/);
    await expect(own.json()).resolves.toMatchObject({ code: "NOT_FOUND", request_id: id });
    const echoed = await fetch(`${url}/nothing-here`, { headers: { "x-request-id": "from-the-caller" } });
    expect(echoed.headers.get("x-request-id")).toBe("from-the-caller");
    await expect(echoed.json()).resolves.toMatchObject({ request_id: "from-the-caller" });
  });
});

/** With nothing at its control plane's address. */
async function startAlone(): Promise<string> {
  const port = await freePort();
  coordinator = startProcess({
    entry: "trainer-node/coordinator/main.ts",
    name: "coordinator",
    env: {
      DATA_DIR: folder,
      COORDINATOR_PORT: String(port),
      CONTROL_ADDRESS: `127.0.0.1:${await freePort()}`,
      COORDINATOR_POLL_MS: "20",
      COORDINATOR_UNHEALTHY_MS: String(UNHEALTHY_AFTER_MS),
    },
  });
  await coordinator.ready;
  return `http://127.0.0.1:${port}`;
}

async function untilStatus(url: string, status: number): Promise<Record<string, unknown>> {
  for (;;) {
    const answer = await fetch(url);
    const body = (await answer.json()) as Record<string, unknown>;
    if (answer.status === status) return body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
