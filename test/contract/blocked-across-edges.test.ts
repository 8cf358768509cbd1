import { chat, newTenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";

let system: System;
beforeAll(async () => {
  system = await startSystem({ edges: 2 });
});
afterAll(() => system.stop());

// Each connection goes to one of the two edges: of eight at once, some to the one that has not made the call before.
const AT_ONCE = 8;
const TENANTS = 6;

test("the call after the one that took the balance below zero is refused with TEAM_BLOCKED, also by an edge that did not serve that one", async () => {
  const tenants = await Promise.all(Array.from({ length: TENANTS }, () => newTenant(system, { creditNano: 500 })));
  for (const { key } of tenants) {
    expect((await chat(system, key, "one")).status).toBe(200);
    const refused = await Promise.all(Array.from({ length: AT_ONCE }, () => chat(system, key, "one more")));
    expect(refused.map(({ status, body }) => `${status} ${body.error.code}`)).toEqual(new Array(AT_ONCE).fill("403 TEAM_BLOCKED"));
  }
});
