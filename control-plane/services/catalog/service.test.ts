import { createAuthority } from "../../../cli/certs/issue.ts";
import type { CreateProviderRequest } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { openTls } from "./provider-tls.ts";
import { catalogHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const catalog = () => catalogHandlers(platform.deps);
const provider = (name: string, changes: Partial<CreateProviderRequest> = {}) =>
  catalog().createProvider({ name, kind: "openai", ...changes }, platform.as("operator"));
const model = (name: string, changes: { provider?: string } = {}) =>
  catalog().createModel(
    { name, provider: "upstream", inferenceModelId: "gpt-4o", type: "chat", pricing: { input: 1n, output: 2n }, ...changes },
    platform.as("operator"),
  );
const listed = async (who: Who, includeDisabled = false) =>
  (await catalog().listModels({ page: undefined, includeDisabled }, platform.as(who))).models;

test.each(["createProvider", "createModel", "updateModel", "deleteModel", "updateProvider", "deleteProvider", "clearCache"] as const)(
  "%s is for platform admins",
  async (method) => {
    const request = { id: "none", name: "n", kind: "openai", provider: "none", inferenceModelId: "m", type: "chat" };
    const outcomes = await platform.outcomes((context) => catalog()[method](request, context));
    const { anonymous, operator, ...others } = outcomes;
    expect([anonymous, ...new Set(Object.values(others))]).toEqual(["UNAUTHORIZED", "FORBIDDEN"]);
    expect(["ok", "NOT_FOUND"]).toContain(operator);
  },
);

test("the list of models is public; the provider's name of a model and disabled models are for platform admins", async () => {
  await provider("upstream");
  const { model: created } = await model("fast");
  await model("old").then((made) => catalog().updateModel({ id: made.model?.id ?? "", status: "disabled" }, platform.as("operator")));
  expect((await listed("anonymous")).map(({ name, inferenceModelId, pricing }) => [name, inferenceModelId, pricing?.input])).toEqual([
    ["fast", "", 1n],
  ]);
  expect((await listed("operator", true)).map(({ name, inferenceModelId }) => [name, inferenceModelId])).toEqual([
    ["fast", "gpt-4o"],
    ["old", "gpt-4o"],
  ]);
  expect(await outcomeOf(listed("owner", true))).toBe("FORBIDDEN");
  expect(await outcomeOf(listed("anonymous", true))).toBe("UNAUTHORIZED");
  expect(created?.id).toMatch(/^model_/);
});

test("names of models and providers are unique", async () => {
  await provider("upstream");
  await model("fast");
  expect(await Promise.all([provider("Upstream"), model("fast")].map(outcomeOf))).toEqual(["ALREADY_EXISTS", "ALREADY_EXISTS"]);
});

test("a new price is a new version; earlier versions stay for calls that were billed by them", async () => {
  await provider("upstream");
  const { model: created } = await model("fast");
  const id = created?.id ?? "";
  const { model: updated } = await catalog().updateModel({ id, pricing: { input: 7n, output: 8n } }, platform.as("operator"));
  expect(updated?.pricing).toMatchObject({ version: 2, input: 7n });
  expect(await platform.deps.store.get("prices", `${id}/1`)).toMatchObject({ input: 1n });
  await catalog().deleteModel({ id }, platform.as("operator"));
  expect(await platform.deps.store.get("prices", `${id}/2`)).toMatchObject({ input: 7n });
});

test("a provider with models is not deleted, and a model needs an existing provider", async () => {
  const { provider: created } = await provider("upstream");
  await model("fast");
  expect(await outcomeOf(catalog().deleteProvider({ id: created?.id ?? "" }, platform.as("operator")))).toBe("VALIDATION_ERROR");
  expect(await outcomeOf(model("other", { provider: "none" }))).toBe("NOT_FOUND");
});

test.each([
  ["an unknown kind", { kind: "telepathy" }],
  ["a link-local address", { baseUrl: "http://169.254.169.254/v1" }],
  ["an address with a password", { baseUrl: "https://user:secret@example.org" }],
  ["an address that is not http", { baseUrl: "ftp://example.org" }],
])("a provider with %s is refused", async (_name, changes) => {
  expect(await outcomeOf(provider("upstream", changes))).toBe("VALIDATION_ERROR");
});

test("certificates of a provider are checked, encrypted, given to edges only, and removed one by one", async () => {
  const authority = await createAuthority(Date.now());
  const { cert: clientCertificate, key: clientKey } = await authority.issue({ role: "edge", name: "e" }, { hosts: [], days: 1 });
  const ca = authority.cert;
  const { provider: created } = await provider("upstream", { ca, clientCertificate, clientKey });
  const id = created?.id ?? "";
  const stored = async () => await platform.deps.store.get("providers", id);
  expect(JSON.stringify([created, await stored()])).not.toContain("PRIVATE KEY");
  const tls = async () => openTls((await stored()) ?? {}, platform.deps.secrets);
  expect(await tls()).toEqual({ ca, clientCertificate, clientKey });
  const update = (changes: object) => catalog().updateProvider({ id, ...changes }, platform.as("operator"));
  const before = await stored();
  await update({ name: "renamed" });
  expect((await stored())?.sealedTls).toBe(before?.sealedTls);
  expect(await outcomeOf(update({ clientKey: "" }))).toBe("VALIDATION_ERROR");
  expect(await outcomeOf(update({ ca: "no pem" }))).toBe("VALIDATION_ERROR");
  await update({ clientKey: "", clientCertificate: "" });
  expect(await tls()).toEqual({ ca });
  await update({ ca: "" });
  expect(await stored()).not.toHaveProperty("sealedTls");
});

test("the credential of a provider is encrypted, and no answer contains it", async () => {
  const { provider: created } = await provider("upstream", { apiKey: "sk-upstream-secret" });
  const stored = await platform.deps.store.get("providers", created?.id ?? "");
  expect(JSON.stringify([created, stored])).not.toContain("sk-upstream-secret");
  expect(platform.deps.secrets.open(stored?.sealedCredential ?? "").toString()).toBe("sk-upstream-secret");
});
