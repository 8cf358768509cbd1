import type { Clock } from "../../common/clock.ts";
import { ConfigError } from "../../common/config.ts";
import { memoryRows } from "./memory-rows-fixture.ts";
import { refuseTakenAddress } from "./unique-address.ts";

const self = { id: "new", address: "plane-1:4100" };

/** Rows of which some planes beat each second. */
function open(beating: readonly string[]) {
  const rows = memoryRows(4);
  let nowMs = 0;
  let beat = 1;
  const clock: Clock = {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    after: () => () => {},
    sleep: async (ms) => {
      nowMs += ms;
      if (nowMs % 1_000 !== 0) return;
      beat++;
      for (const address of beating) await rows.beat({ id: `at ${address}`, address, beat });
    },
  };
  const place = (address: string) => rows.beat({ id: `at ${address}`, address, beat });
  return { rows, clock, place, waitedMs: () => nowMs };
}

test("an address at which another control plane beats is refused with what to do", async () => {
  const { rows, clock, place } = open(["plane-1:4100"]);
  await place("plane-1:4100");
  const refused = refuseTakenAddress({ rows, clock, self });
  await expect(refused).rejects.toBeInstanceOf(ConfigError);
  await expect(refused).rejects.toThrow("CONTROL_ADVERTISE: another control plane of this store lives at plane-1:4100");
});

test("the row that a killed control plane left at the same address does not hinder its restart", async () => {
  const { rows, clock, place, waitedMs } = open(["plane-2:4100"]);
  await place("plane-1:4100");
  await refuseTakenAddress({ rows, clock, self });
  expect(waitedMs()).toBe(2_500);
});

test("a start at a free address does not wait", async () => {
  const { rows, clock, place, waitedMs } = open(["plane-2:4100"]);
  await place("plane-2:4100");
  await refuseTakenAddress({ rows, clock, self });
  expect(waitedMs()).toBe(0);
});
