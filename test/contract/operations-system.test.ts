import { readFileSync } from "node:fs";
import { type Answer, adminToken, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { MASTER_KEY, type System, startSystem } from "../helpers/system.ts";
import { expectError } from "./support.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

let system: System;
let admin: string;
let tenant: Tenant;

beforeAll(async () => {
  system = await startSystem({ edges: 2 });
  [admin, tenant] = [await adminToken(system), await newTenant(system, { creditNano: 1_000_000_000 })];
});
afterAll(() => system.stop());

const ask = (token: string) => call(system.url, "GET", "/api/admin/system", { token });

interface Edge {
  id: string;
  status: string;
  version: string;
  startedAt: string;
  seenAt: string;
  inFlight: number;
  leases: { organizationId: string; granted: number; grantedUsd: string; settled: number; expiresAt: string }[];
  journal: { bytes: number; records: number; unshipped: number; oldestUnshippedAt: string | null };
}

const edgesOf = ({ body }: Answer): Edge[] => body.edges;

const sum = (edges: readonly Edge[], name: "bytes" | "records" | "unshipped") =>
  edges.reduce((total, { journal }) => total + journal[name], 0);

/** Edges report every three seconds. */
async function until(wanted: (edges: Edge[]) => boolean): Promise<Answer> {
  for (const end = Date.now() + 10_000; ; ) {
    const answer = await ask(admin);
    if (wanted(edgesOf(answer))) return answer;
    if (Date.now() > end) throw new Error(`not as wanted: ${answer.text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test("every edge is there, of this release, started before it was last seen; so is the control plane with its queues", async () => {
  const { body } = await until((edges) => edges.length === 2 && edges.every(({ status }) => status === "ready"));
  expect(body).toMatchObject({
    version,
    controlPlane: {
      store: "embedded",
      queues: { settlements: 0, reservations: 0, notices: expect.any(Number), deliveries: 0, federations: 0 },
    },
    trainers: [],
  });
  for (const edge of body.edges as Edge[]) {
    expect(edge).toMatchObject({ status: "ready", version, inFlight: 0 });
    expect(Date.parse(edge.startedAt)).toBeLessThanOrEqual(Date.parse(edge.seenAt));
    expect(Date.now() - Date.parse(edge.seenAt)).toBeLessThan(10_000);
  }
});

test("calls show in the journal that took them, then in no backlog, and in the lease they were paid from", async () => {
  for (let index = 0; index < 12; index++) expect((await chat(system, tenant.key, "some words to be paid for")).status).toBe(200);
  const paid = Number((await call(system.url, "GET", "/api/quota", { token: tenant.token })).body.quota.totalUsed);
  const answer = await until((edges) => {
    const [records, unshipped] = [sum(edges, "records"), sum(edges, "unshipped")];
    return records >= 24 && unshipped === 0;
  });
  const edges = edgesOf(answer);
  expect(edges.map(({ journal }) => journal.oldestUnshippedAt)).toEqual([null, null]);
  expect(sum(edges, "bytes")).toBeGreaterThan(1000);
  const leases = edges.flatMap((edge) => edge.leases).filter(({ organizationId }) => organizationId === tenant.organizationId);
  expect(leases.reduce((total, { settled }) => total + settled, 0)).toBe(paid);
  for (const { granted, settled, expiresAt } of leases) {
    expect(granted).toBeGreaterThanOrEqual(settled);
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());
  }
});

test("the master key opens it, a customer does not", async () => {
  expect((await ask(MASTER_KEY)).status).toBe(200);
  expectError(await ask(tenant.token), 403, "FORBIDDEN");
});
