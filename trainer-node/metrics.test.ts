import { readExposition } from "../common/metrics/exposition-fixture.ts";
import { createMetrics } from "./metrics.ts";
import { createByteBudget } from "./pool/byte-budget.ts";

test("a node's calls and bytes are counters, its load gauges, and all are clean by promtool's rules", async () => {
  const pool = { load: () => ({ queued: 2, running: 1, threads: 4 }) };
  const servingPool = { load: () => ({ queued: 0, running: 3, threads: 3 }) };
  const jobs = { counts: () => ({ active: 5, finished: 6 }) };
  const metrics = createMetrics({ pool, servingPool, jobs, budget: createByteBudget(1024) });
  metrics.countCall({ route: "/train", status: 200, seconds: 1.5 });
  metrics.countBytes("in", 100);
  const text = await metrics.text();
  const { types, problems } = readExposition(text);
  expect(problems).toEqual([]);
  expect(Object.fromEntries(types)).toEqual({
    trainer_calls_total: "counter",
    trainer_call_seconds: "histogram",
    trainer_body_bytes_total: "counter",
    trainer_queue_size: "gauge",
    trainer_running: "gauge",
    trainer_threads: "gauge",
    trainer_jobs_active: "gauge",
    trainer_held_bytes: "gauge",
  });
  expect(text.split("\n")).toEqual(
    expect.arrayContaining([
      'trainer_queue_size{pool="training"} 2',
      'trainer_running{pool="serving"} 3',
      'trainer_threads{pool="training"} 4',
      "trainer_jobs_active 5",
      'trainer_calls_total{route="/train",status="200"} 1',
    ]),
  );
});
