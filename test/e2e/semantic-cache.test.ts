import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminToken, call, chat, newTenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { expectLedgerVerifies } from "./ledger-checks.ts";

// As LiteLLM's users have it. The built-in model makes vectors too: texts that share words are near each other.
const CONFIG = `
model_list: []
litellm_settings:
  cache: true
  cache_params: {type: qdrant-semantic, similarity_threshold: 0.8, qdrant_semantic_cache_embedding_model: echo}
`;

let folder: string;
let system: System;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-semantic-"));
  writeFileSync(join(folder, "config.yaml"), CONFIG);
  system = await startSystem({ env: { CONFIG: join(folder, "config.yaml") } });
}, 240_000);
afterAll(async () => {
  try {
    if (system) await expectLedgerVerifies(system);
  } finally {
    await system?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

const similarityOf = (headers: Headers) => Number(headers.get("x-gw-semantic-similarity"));

test("with an unchanged LiteLLM configuration a similar question is answered from the cache; its vectors are in the log and on the bill", async () => {
  const tenant = await newTenant(system, { creditNano: 1_000_000_000 });
  const first = await chat(system, tenant.key, "please explain to me in short words what a tributary of a river is");
  const similar = await chat(system, tenant.key, "please explain to me in short words what a tributary of the river is");
  expect([first.status, similar.status, similarityOf(first.headers)]).toEqual([200, 200, 0]);
  expect(similarityOf(similar.headers)).toBeGreaterThan(0.8);
  expect(similar.body.choices[0].message.content).toBe(first.body.choices[0].message.content);
  const { body: logs } = await call(system.url, "GET", "/api/gw/logs?pageSize=100", { token: tenant.token });
  const rows = logs.data as { type: string; endpoint: string; cacheHit: boolean; cost: number }[];
  const vectors = rows.filter(({ endpoint }) => endpoint === "/v1/embeddings");
  expect([rows.length, vectors.length, vectors.every(({ cost }) => cost > 0)]).toEqual([4, 2, true]);
  expect(rows.filter(({ cacheHit }) => cacheHit)).toMatchObject([{ cost: 0 }]);
  const { text } = await call(system.url, "GET", "/metrics");
  expect(text).toMatch(/tributary_semantic_cache_hits_total\{edge="\d"\} 1\b/);
});

test("a key with one request a minute makes one compared call; what is refused then pays for no vector", async () => {
  const { token, teamId } = await newTenant(system, { creditNano: 1_000_000_000 });
  const made = await call(system.url, "POST", "/api/gw/api-keys", { token, body: { name: "slow", team_id: teamId, rpm: 1 } });
  const statuses: number[] = [];
  for (const text of ["alpha beta gamma", "delta epsilon zeta", "delta epsilon zeta"])
    statuses.push((await chat(system, made.body.key, text)).status);
  expect(statuses).toEqual([200, 429, 429]);
  const { body: logs } = await call(system.url, "GET", "/api/gw/logs?pageSize=100", { token });
  const rows = logs.data as { endpoint: string; cost: number }[];
  expect(
    rows
      .filter(({ cost }) => cost > 0)
      .map(({ endpoint }) => endpoint)
      .sort(),
  ).toEqual(["/v1/chat/completions", "/v1/embeddings"]);
});

test("an organization turns it off for its calls, within a second, and its answer shows the setting", async () => {
  const tenant = await newTenant(system, { creditNano: 1_000_000_000 });
  await chat(system, tenant.key, "one two three four five six seven");
  const { body } = await call(system.url, "PUT", "/api/gw/organizations", {
    token: tenant.token,
    body: { semanticCache: { enabled: false } },
  });
  expect(body.organization.semanticCache).toEqual({ enabled: false, threshold: null, embeddingModel: null });
  const rowsOf = async () =>
    (await call(system.url, "GET", "/api/gw/logs?pageSize=100", { token: tenant.token })).body.meta.total as number;
  const deadline = Date.now() + 5000;
  // The edge has the change once a call makes one row instead of two.
  for (let made = 0, number = 0; made !== 1; number++) {
    expect(Date.now()).toBeLessThan(deadline);
    const before = await rowsOf();
    await chat(system, tenant.key, `something else altogether ${number}`);
    made = (await rowsOf()) - before;
  }
  expect(similarityOf((await chat(system, tenant.key, "one two three four five six eight")).headers)).toBe(0);
  const refused = await call(system.url, "PUT", "/api/gw/organizations", {
    token: tenant.token,
    body: { semanticCache: { enabled: true, threshold: 2 } },
  });
  expect([refused.status, refused.body.code]).toEqual([400, "VALIDATION_ERROR"]);
  const { body: cache } = await call(system.url, "GET", "/api/admin/cache", { token: await adminToken(system) });
  expect(cache.semantic).toMatchObject({ forAll: true, threshold: 0.8, embeddingModel: "echo", failures: 0 });
});
