import { type AttemptOutcome, afterAttempt, retryDelayMs } from "./delivery.ts";
import type { Delivery } from "./webhook-records.ts";

const HOUR_MS = 3_600_000;
const fresh: Delivery = {
  id: "msg_1",
  organizationId: "org_1",
  type: "key.created",
  webhookId: "wh_1",
  body: "{}",
  status: "pending",
  attempts: 0,
  createdAt: 1000,
  dueAt: 1000,
  expiresAt: 9e15,
};

test("what is answered with 2xx is delivered and never due again", () => {
  const done = afterAttempt(fresh, { kind: "answered", status: 204 }, { now: 1500, chance: 0 });
  expect(done).toMatchObject({ status: "delivered", attempts: 1, httpStatus: 204, deliveredAt: 1500 });
  expect(done.dueAt).toBeUndefined();
});

test.each<[AttemptOutcome, string]>([
  [{ kind: "answered", status: 500 }, "answered 500"],
  [{ kind: "answered", status: 302 }, "answered 302; redirects are not followed"],
  [{ kind: "failed", reason: "no answer within 10 s" }, "no answer within 10 s"],
])("after %p it is tried again, and the log says why", (outcome, error) => {
  expect(afterAttempt(fresh, outcome, { now: 2000, chance: 0 })).toMatchObject({ status: "pending", error, attempts: 1, dueAt: 7000 });
});

test("attempts come ever later, for a day and no longer", () => {
  let [delivery, now] = [fresh, fresh.createdAt];
  const delays: number[] = [];
  while (delivery.status === "pending") {
    delivery = afterAttempt(delivery, { kind: "answered", status: 503 }, { now, chance: 0.5 });
    if (delivery.dueAt === undefined) break;
    delays.push(delivery.dueAt - now);
    now = delivery.dueAt;
  }
  expect(delivery).toMatchObject({ status: "failed", error: "answered 503" });
  expect(delays).toEqual([...delays].sort((left, right) => left - right));
  expect(delivery.attempts).toBeGreaterThan(8);
  expect(now - fresh.createdAt).toBeGreaterThan(18 * HOUR_MS);
  expect(now - fresh.createdAt).toBeLessThanOrEqual(24 * HOUR_MS);
  expect([retryDelayMs(1, 0), retryDelayMs(1, 1), retryDelayMs(50, 1)]).toEqual([5000, 6000, 4.8 * HOUR_MS]);
});

test("a receiver that says it is gone is not asked again", () => {
  expect(afterAttempt(fresh, { kind: "answered", status: 410 }, { now: 2000, chance: 0 })).toMatchObject({
    status: "failed",
    httpStatus: 410,
  });
});
