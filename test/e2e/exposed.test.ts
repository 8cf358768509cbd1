import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, type SystemOptions, startSystem } from "../helpers/system.ts";

let running: System | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function start(options: SystemOptions): Promise<{ system: System; tenant: Tenant }> {
  running = await startSystem(options);
  return { system: running, tenant: await newTenant(running) };
}

const PRIVATE = "http://127.0.0.1:9";

/** The statuses of everything that a tenant could use to make this machine call itself. */
async function tryPrivateAddresses(system: System, { token }: Tenant) {
  const federation = { name: "f", rounds: 1, strategy: { name: "fedavg" }, task: { name: "softmax" }, participants: [{ url: PRIVATE }] };
  const node = await call(system.url, "POST", "/training/nodes", { token, body: { url: PRIVATE } });
  const joined = await call(system.url, "POST", "/training/federations", { token, body: federation });
  const webhook = await call(system.url, "POST", "/api/gw/webhooks", { token, body: { url: PRIVATE, events: ["key.created"] } });
  const nodes = await call(system.url, "GET", "/training/nodes", { token });
  return {
    statuses: [node.status, joined.status, webhook.status],
    sharedNodes: nodes.body.data.filter(({ teamId }: { teamId: string | null }) => teamId === null).length,
    texts: [node.text, joined.text, webhook.text].join("\n"),
  };
}

test("on one's own machine tenants may name addresses of the machine, and train on its node", async () => {
  const { system, tenant } = await start({});
  expect(await tryPrivateAddresses(system, tenant)).toMatchObject({ statuses: [201, 201, 201], sharedNodes: 1 });
});

test.each([{ TRUST_PROXY: "127.0.0.1" }, { PUBLIC_URL: "https://gateway.example.org" }])(
  "exposed by %j: addresses of the operator's network are refused, and its nodes are not shared",
  async (env) => {
    const { system, tenant } = await start({ env });
    const tried = await tryPrivateAddresses(system, tenant);
    expect(tried).toMatchObject({ statuses: [400, 400, 400], sharedNodes: 0 });
    expect(tried.texts).toContain("ALLOW_PRIVATE_NODES=true");
  },
);

test("exposed, each of them is open again where the operator says so", async () => {
  const open = { ALLOW_PRIVATE_NODES: "true", ALLOW_PRIVATE_WEBHOOKS: "true", SHARED_TRAINERS: "true" };
  const { system, tenant } = await start({ env: { TRUST_PROXY: "127.0.0.1", ...open } });
  expect(await tryPrivateAddresses(system, tenant)).toMatchObject({ statuses: [201, 201, 201], sharedNodes: 1 });
});

describe("test credits", () => {
  const STRIPE = { STRIPE_SECRET_KEY: "sk_test_123", STRIPE_WEBHOOK_SECRET: "whsec_1" };
  const buy = async (system: System, { token }: Tenant, method?: string) => {
    const answer = await call(system.url, "POST", "/api/credits/purchase", { token, body: { amountUsd: "1000.00", method } });
    return { status: answer.status, method: answer.body.purchase?.method, text: answer.text };
  };
  const methods = async (system: System, { token }: Tenant) =>
    (await call(system.url, "GET", "/api/quota", { token })).body.quota.paymentMethods;

  test("exposed there are none, whether they are named or not, and the answer says what to do", async () => {
    const { system, tenant } = await start({ env: { TRUST_PROXY: "127.0.0.1" } });
    for (const method of ["test", undefined]) {
      const refused = await buy(system, tenant, method);
      expect(refused).toMatchObject({ status: 400, text: expect.stringContaining("TEST_CREDITS=true") });
    }
    expect(await methods(system, tenant)).toEqual([]);
  });

  test("TEST_CREDITS=true has them everywhere", async () => {
    const { system, tenant } = await start({ env: { ...STRIPE, TRUST_PROXY: "127.0.0.1", TEST_CREDITS: "true" } });
    expect(await buy(system, tenant)).toMatchObject({ status: 201, method: "test" });
    expect(await methods(system, tenant)).toEqual(["test", "card"]);
  });
});
