import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { reportedCall } from "../proof/ledger-fixture.ts";
import { collect } from "../stores/page.ts";
import { openTestStore } from "../stores/test-store.ts";
import { Reservations } from "./reservations.ts";
import { Settler } from "./settler.ts";

let opened: ReturnType<typeof openTestStore>;
beforeEach(() => {
  opened = openTestStore();
});
afterEach(() => opened.close());

function newSettler(): Settler {
  const { store } = opened;
  const reservations = new Reservations({ reader: store, clock: systemClock, policy: "document" });
  return new Settler({ store, reservations, clock: systemClock, logger: silentLogger });
}

test("a call that is reported again with other content is refused for its reporter and audited; the rest of its batch is settled", async () => {
  const settler = newSettler();
  await settler.settle([reportedCall("call_1", 10n)]);
  const [mismatched, other] = await Promise.all([
    settler.settle([reportedCall("call_1", 11n), reportedCall("call_2", 1n)]),
    settler.settle([reportedCall("call_3", 2n, { organizationId: "org_2" })]),
  ]);
  expect([mismatched.refused, other.refused]).toEqual([["call_1"], []]);
  expect((await opened.store.get("accounts", "org:org_1"))?.balance).toBe(-11n);
  expect((await opened.store.get("accounts", "org:org_2"))?.balance).toBe(-2n);
  const lines = await collect(opened.store.scan("audit"));
  expect(lines.map(({ action, target }) => [action, target])).toEqual([["settlement.mismatch", "call_1"]]);
});
