import { type GatewayConfig, NO_GATEWAY_CONFIG } from "../../gateway-config/gateway-config.ts";
import { collect } from "../../stores/page.ts";
import { catalogHandlers } from "../catalog/service.ts";
import { openPlatform, outcomeOf, type Platform } from "../platform-fixture.ts";
import { settingsJson } from "./merged-settings.ts";
import { gatewayHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

/** A platform whose file has a guardrail; the store is the same. */
function withFile(settings: Partial<GatewayConfig["settings"]>): Platform["deps"] {
  const current = {
    ...NO_GATEWAY_CONFIG,
    files: ["/etc/tributary/gateway.yaml"],
    settings: { ...NO_GATEWAY_CONFIG.settings, ...settings },
  };
  return { ...platform.deps, gateway: { current, check: async () => {} } };
}
const gateway = (deps = platform.deps) => gatewayHandlers(deps);
const admin = () => platform.as("operator");
const inForce = async (deps = platform.deps) => JSON.parse(await settingsJson(deps)) as Record<string, unknown>;

describe("guardrails", () => {
  const given = { name: "no-secrets", kind: "word-list", stage: "pre", byDefault: true, enabled: true, settings: '{"words":["s3cret"]}' };
  const create = (changes: Partial<typeof given> = {}, deps = platform.deps) =>
    gateway(deps).createGuardrail({ ...given, ...changes }, admin());
  const entry = {
    guardrail_name: "no-secrets",
    litellm_params: { guardrail: "word-list", mode: ["pre_call"], default_on: true, words: ["s3cret"] },
  };

  test("are for platform admins alone", async () => {
    let count = 0;
    const outcomes = await platform.outcomes((context) => gateway().createGuardrail({ ...given, name: `guardrail-${++count}` }, context));
    expect(outcomes["operator"]).toBe("ok");
    expect(Object.entries(outcomes).filter(([who, outcome]) => who !== "operator" && outcome === "ok")).toEqual([]);
    expect(await platform.outcomes((context) => gateway().listGuardrails({}, context))).toMatchObject({
      owner: "FORBIDDEN",
      operator: "ok",
    });
  });

  test("that are stored reach the edges as the file's do, with a change of the feed and an audit line without their words", async () => {
    await create();
    expect((await inForce())["guardrails"]).toEqual([entry]);
    expect((await collect(platform.deps.store.scan("feed"))).at(-1)).toMatchObject({ kind: "catalog", subject: "guardrail/no-secrets" });
    await gateway().updateGuardrail({ name: "no-secrets", enabled: false }, admin());
    expect((await inForce())["guardrails"]).toEqual([{ ...entry, enabled: false }]);
    await gateway().deleteGuardrail({ name: "no-secrets" }, admin());
    expect((await inForce())["guardrails"]).toBeUndefined();
    const audit = await collect(platform.deps.store.scan("audit"));
    const actions = ["guardrail.create", "guardrail.update", "guardrail.delete"];
    expect(audit.flatMap(({ action }) => (action.startsWith("guardrail.") ? [action] : []))).toEqual(actions);
    expect(JSON.stringify(audit, (_key, value) => (typeof value === "bigint" ? String(value) : value))).not.toContain("s3cret");
  });

  test("are applied in the order that an admin sets, which names each once", async () => {
    for (const name of ["a", "b", "c"]) await create({ name });
    await gateway().orderGuardrails({ names: ["c", "a", "b"] }, admin());
    const { guardrails } = await gateway().listGuardrails({}, admin());
    expect(guardrails.map(({ name }) => name)).toEqual(["c", "a", "b"]);
    for (const names of [
      ["a", "b"],
      ["a", "b", "b"],
      ["a", "b", "c", "d"],
    ]) {
      expect(await outcomeOf(gateway().orderGuardrails({ names }, admin()))).toBe("VALIDATION_ERROR");
    }
  });

  test("of the file come first, name it, and are changed only there; its name wins over a stored one", async () => {
    await create();
    const ofFile = { guardrail_name: "no-secrets", litellm_params: { guardrail: "regex", mode: "post_call", patterns: ["x"] } };
    const deps = withFile({ guardrails: [ofFile] });
    expect((await gateway(deps).listGuardrails({}, admin())).guardrails).toEqual([
      {
        name: "no-secrets",
        kind: "regex",
        stage: "post",
        byDefault: false,
        enabled: true,
        settings: '{"patterns":["x"]}',
        source: "configuration",
        file: "/etc/tributary/gateway.yaml",
      },
    ]);
    expect((await inForce(deps))["guardrails"]).toEqual([ofFile]);
    expect(await outcomeOf(create({}, deps))).toBe("VALIDATION_ERROR");
    expect(await outcomeOf(gateway(deps).updateGuardrail({ name: "no-secrets", enabled: false }, admin()))).toBe("VALIDATION_ERROR");
  });

  test("a stored one that the file hides is not in the order, and is deleted by its name; the file's stays", async () => {
    for (const name of ["no-secrets", "a", "b"]) await create({ name });
    const ofFile = { guardrail_name: "no-secrets", litellm_params: { guardrail: "regex", mode: "post_call", patterns: ["x"] } };
    const deps = withFile({ guardrails: [ofFile] });
    const { guardrails } = await gateway(deps).orderGuardrails({ names: ["b", "a"] }, admin());
    expect(guardrails.map(({ name }) => name)).toEqual(["no-secrets", "b", "a"]);
    expect(await outcomeOf(gateway(deps).deleteGuardrail({ name: "no-secrets" }, admin()))).toBe("ok");
    expect(await outcomeOf(gateway(deps).deleteGuardrail({ name: "no-secrets" }, admin()))).toBe("VALIDATION_ERROR");
    expect((await gateway(deps).listGuardrails({}, admin())).guardrails.map(({ name }) => name)).toEqual(["no-secrets", "b", "a"]);
    expect((await gateway().listGuardrails({}, admin())).guardrails.map(({ name }) => name)).toEqual(["b", "a"]);
  });

  test("have settings of a size that edges can load, each and together; what shrinks or is switched off is taken", async () => {
    const wordsOf = (bytes: number) => JSON.stringify({ words: ["x".repeat(bytes - '{"words":[""]}'.length)] });
    const tooLarge = { code: "VALIDATION_ERROR", details: [{ path: "body.settings" }] };
    await expect(create({ settings: wordsOf(64 * 1024 + 1) })).rejects.toMatchObject(tooLarge);
    for (let count = 0; count < 16; count++) await create({ name: `full-${count}`, settings: wordsOf(64 * 1024) });
    await expect(create()).rejects.toMatchObject(tooLarge);
    const update = (settings: string) => gateway().updateGuardrail({ name: "full-0", settings }, admin());
    expect(await outcomeOf(update(wordsOf(64 * 1024)))).toBe("ok");
    await expect(update(wordsOf(64 * 1024 + 1))).rejects.toMatchObject(tooLarge);
    expect(await outcomeOf(update(wordsOf(1024)))).toBe("ok");
    expect(await outcomeOf(create())).toBe("ok");
    expect(await outcomeOf(gateway().updateGuardrail({ name: "full-1", enabled: false }, admin()))).toBe("ok");
  });

  test.each<[string, Partial<typeof given>, string]>([
    ["a kind that does not exist", { kind: "telepathy" }, "body.kind"],
    ["a setting of another kind", { settings: '{"words":["a"],"patterns":["b"]}' }, "body.settings.patterns"],
    ["a missing setting", { settings: "{}" }, "body.settings"],
    ["a setting of another type", { settings: '{"words":"a"}' }, "body.settings.words"],
    ["an action that does not exist", { settings: '{"words":["a"],"action":"shout"}' }, "body.settings.action"],
    ["a pattern that is none", { kind: "regex", settings: '{"patterns":["("]}' }, "body.settings.patterns"],
  ])("%s is refused at its field", async (_name, changes, path) => {
    await expect(create(changes)).rejects.toMatchObject({ code: "VALIDATION_ERROR", details: [{ path }] });
  });

  test("a name is taken once, and one that does not exist is NOT_FOUND", async () => {
    await create();
    expect(await outcomeOf(create())).toBe("ALREADY_EXISTS");
    expect(await outcomeOf(gateway().updateGuardrail({ name: "other", enabled: false }, admin()))).toBe("NOT_FOUND");
  });
});

describe("routing", () => {
  const none = { strategy: undefined, deployments: [], fileFields: [] };
  const update = (routing: object, deps = platform.deps) =>
    gateway(deps).updateRouting({ routing: { ...none, model: "echo", ...routing } }, admin());

  test("of a model group is what admins stored where the file leaves it open", async () => {
    const catalog = catalogHandlers(platform.deps);
    await catalog.createProvider({ name: "upstream", kind: "echo" }, admin());
    for (const name of ["echo", "other"]) {
      await catalog.createModel({ name, provider: "upstream", inferenceModelId: "echo", type: "chat" }, admin());
    }
    await update({ strategy: "least-busy", fallbacks: { names: ["other"] }, contextWindowFallbacks: { names: ["other"] } });
    expect((await inForce())["router_settings"]).toEqual({
      fallbacks: [{ echo: ["other"] }],
      context_window_fallbacks: [{ echo: ["other"] }],
      routing_groups: [{ models: ["echo"], routing_strategy: "least-busy" }],
    });
    const file = { router_settings: { fallbacks: [{ echo: ["file"] }], routing_groups: [{ models: ["echo"], routing_strategy: "x" }] } };
    const deps = withFile(file);
    expect((await inForce(deps))["router_settings"]).toMatchObject({
      fallbacks: [{ echo: ["file"] }],
      routing_groups: [{ routing_strategy: "least-busy" }, { routing_strategy: "x" }],
    });
    const { groups } = await gateway(deps).listRouting({}, admin());
    expect(groups.find(({ model }) => model === "echo")?.fileFields).toEqual(["strategy", "fallbacks"]);
    await expect(update({ fallbacks: { names: ["other"] } }, deps)).rejects.toMatchObject({
      details: [{ path: "body.fallbacks.general" }],
    });
    await expect(update({ strategy: "least-busy" }, deps)).rejects.toMatchObject({ details: [{ path: "body.strategy" }] });
    await update({});
    expect((await inForce())["router_settings"]).toEqual({});
  });
});

test("the cache is the file's if it says anything about it, and else what admins stored", async () => {
  const settings = { enabled: true, ttlSeconds: 60, mode: "default_off" };
  await gateway().updateCacheSettings({ settings }, admin());
  const stored = { cache: true, cache_params: { ttl: 60, mode: "default_off" } };
  expect((await inForce())["litellm_settings"]).toEqual(stored);
  expect(await gateway().getCacheSettings({}, admin())).toMatchObject({ settings, source: "catalog" });
  const deps = withFile({ litellm_settings: { cache: false } });
  expect((await inForce(deps))["litellm_settings"]).toEqual({ cache: false });
  expect(await gateway(deps).getCacheSettings({}, admin())).toMatchObject({ source: "configuration", file: "/etc/tributary/gateway.yaml" });
  expect(await outcomeOf(gateway(deps).updateCacheSettings({ settings }, admin()))).toBe("VALIDATION_ERROR");
});
