import { setTimeout as sleep } from "node:timers/promises";
import { chat, newTenant } from "../helpers/api.ts";
import { startSystem } from "../helpers/system.ts";
import { printLine } from "./ledger-checks.ts";

const BUSY_MS = 3_000;
const CALLERS = 4;

test("a control plane that is busy for three seconds is not taken for a dead one: no call is refused", async () => {
  const system = await startSystem({ env: { LOG_LEVEL: "debug" } });
  try {
    const tenant = await newTenant(system, { creditNano: 10_000_000_000 });
    const state = { over: false };
    const statuses: Record<string, number> = {};
    let calls = 0;
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      while (!state.over) {
        const { status } = await chat(system, tenant.key, `caller ${caller} call ${calls}`);
        statuses[status] = (statuses[status] ?? 0) + 1;
        calls++;
        await sleep(5);
      }
    });
    const untilCalls = async (wanted: number) => {
      while (calls < wanted) await sleep(20);
    };
    // Enough for a lease that is held ahead.
    await untilCalls(200);
    for (let time = 0; time < 2; time++) {
      const before = calls;
      process.kill(system.controlPlane.pid, "SIGSTOP");
      await sleep(BUSY_MS);
      process.kill(system.controlPlane.pid, "SIGCONT");
      expect(calls).toBeGreaterThan(before);
      await untilCalls(calls + 200);
    }
    state.over = true;
    await Promise.all(callers);
    printLine(`a control plane busy for ${BUSY_MS} ms, twice: ${JSON.stringify(statuses)}`);
    expect(Object.keys(statuses)).toEqual(["200"]);
    // The edge says so whenever it loses its connection.
    expect(system.logs()).not.toContain("the stream of changes ended");
  } finally {
    await system.stop();
  }
});
