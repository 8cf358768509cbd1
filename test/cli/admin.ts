import { createHash } from "node:crypto";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ADMIN_EMAIL, ADMIN_PASSWORD, MASTER_KEY } from "../helpers/system.ts";
import type { Session } from "./session.ts";

/** Everything under `gw admin`, run by an administrator with a separate profile. */
export function adminTests(world: () => { session: Session }): void {
  const as = (line: string) => `admin ${line} --profile admin`;
  const json: Session["json"] = (line, options) => world().session.json(as(String(line)), options);
  const gw: Session["gw"] = (line, options) => world().session.gw(as(String(line)), options);
  const signUp = (email: string) =>
    world().session.json(`--profile ${email} auth signup --email ${email} --password-stdin`, { stdin: "a good password\n" });

  test("admin: users, limits, credits, blocks", async () => {
    const login = `--profile admin auth login --email ${ADMIN_EMAIL} --password-stdin`;
    await world().session.json(login, { stdin: `${ADMIN_PASSWORD}\n` });
    const { user, organization, team } = await signUp("carol@example.org");
    expect((await json("users --search carol")).data).toHaveLength(1);
    expect((await json(`users get ${user.id}`)).user.email).toBe("carol@example.org");
    expect((await json(`users update ${user.id} --name Carol --rpm 60`)).user).toMatchObject({ name: "Carol", rpm: 60 });
    expect((await json(`orgs limits ${organization.id} --tpm 1000`)).organization.tpm).toBe(1000);
    expect((await json(`orgs grant ${organization.id} --usd 2 --reference welcome`)).balance).toBe(2_000_000_000);
    expect((await json(`orgs grant ${organization.id} --usd -0.5`)).balance).toBe(1_500_000_000);
    expect((await json(`orgs list --search ${organization.id}`)).data).toMatchObject([{ balance: 1_500_000_000, status: "active" }]);
    expect((await json(`orgs block ${organization.id} --reason abuse`)).organization).toMatchObject({
      status: "blocked",
      blockedReason: "admin",
      blockNote: "abuse",
    });
    expect((await json(`orgs unblock ${organization.id}`)).organization.status).toBe("active");
    expect((await json(`teams block ${team.id} --reason abuse`)).team).toMatchObject({ status: "blocked", blockedReason: "admin" });
    expect((await json(`teams unblock ${team.id}`)).team.status).toBe("active");
    expect((await gw(`users reset-totp ${user.id} --yes`)).exit).toBe(6);
    expect((await json(`users disable ${user.id} --yes --reason left`)).user.status).toBe("disabled");
    expect((await json(`users enable ${user.id}`)).user.status).toBe("active");
    expect((await json(`users reset-password ${user.id} --yes`)).resetUrl).toContain("/ui/reset-password?token=");
    expect((await gw(`users delete ${user.id} --yes`)).out).toContain('"deleted": true');
    expect((await gw(`users get ${user.id}`)).exit).toBe(6);
    expect((await json("audit --page-size 1")).data[0].action).toBe("user.delete");
  });

  test("import litellm: a dry run, then teams and keys; LiteLLM's key works, and a second run finds everything there", async () => {
    const secret = "sk-AbCdEfGhIjKlMnOpQrStUv";
    const token = createHash("sha256").update(secret).digest("hex");
    const dump = {
      LiteLLM_TeamTable: [{ team_id: "t1", team_alias: "research", max_budget: 100, spend: 40, models: [] }],
      LiteLLM_VerificationToken: [
        { token, key_alias: "prod", key_name: "sk-...StUv", spend: 1.25, models: [], team_id: "t1", max_budget: 5 },
      ],
    };
    const file = join(world().session.env["XDG_CONFIG_HOME"] ?? "", "litellm.json");
    writeFileSync(file, JSON.stringify(dump));
    const run = async (flags = "") => (await world().session.json(`import litellm ${file} --profile admin${flags}`)).data;
    const ofLine = ({ what, name, result }: Record<string, string>) => `${what} ${name} ${result}`.trim();
    expect((await run(" --dry-run")).map(ofLine)).toEqual([
      "team research would be imported",
      "key prod would be imported",
      "note team research",
    ]);
    expect((await world().session.json("--profile admin teams list --search research")).data).toEqual([]);
    expect((await run()).map(ofLine)).toEqual(["team research imported", "key prod imported", "note team research"]);
    const [team] = (await world().session.json("--profile admin teams list --search research")).data;
    expect(team.maxBudget).toBe(60_000_000_000);
    expect((await world().session.json("--profile admin keys list --search prod")).data).toMatchObject([
      { maskedKey: "sk-...StUv", spend: 1_250_000_000, maxBudget: 5_000_000_000 },
    ]);
    const models = await fetch(`${world().session.env["GW_API_URL"]}/v1/models`, { headers: { "x-litellm-api-key": `Bearer ${secret}` } });
    expect(models.status).toBe(200);
    expect((await run()).map(ofLine).slice(0, 2)).toEqual(["team research was there", "key prod was there"]);
  });

  test("admin: certificates of an installation, in one folder for each role", async () => {
    const out = join(world().session.env["XDG_CONFIG_HOME"] ?? "", "certs");
    const made = await json(`certs --out ${out} --hosts cp.example.org --edges edge-1`);
    expect(made.data.map(({ role }: { role: string }) => role).sort()).toEqual([
      "control-plane",
      "coordinator",
      "edge",
      "edge",
      "operator",
      "trainer",
    ]);
    expect((await gw(`certs --out ${out}`)).err).toContain("Nothing was changed");
  });

  test("admin: a backup of the running platform restores into a new folder, with the same ledger", async () => {
    const folder = world().session.env["XDG_CONFIG_HOME"] ?? "";
    const [file, target] = [join(folder, "backup.tar.gz"), join(folder, "restored")];
    const { lastSeq, hash } = await json("ledger verify");
    const made = await world().session.json(`admin backup --out ${file}`, { env: { GW_API_KEY: MASTER_KEY, GW_PROFILE: "none" } });
    expect([made.file, made.bytes > 1000, statSync(file).mode & 0o777]).toEqual([file, true, 0o600]);
    expect(await json(`restore --from ${file} --data-dir ${target}`)).toMatchObject({
      folder: target,
      ok: true,
      sum: 0,
      lastSeq,
      hash,
      heads: [{ id: "0", seq: lastSeq, hash: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    });
    const again = await gw(`restore --from ${file} --data-dir ${target}`);
    expect([again.exit, again.err]).toEqual([1, expect.stringContaining("is not empty")]);
    expect((await json("audit --page-size 1")).data[0].action).toBe("backup.create");
    expect((await gw(`backup --out ${join(folder, "none", "backup")}`)).exit).toBe(2);
    const denied = await world().session.gw(`admin backup --out ${file}-2 --profile carol@example.org`);
    expect([denied.exit, existsSync(`${file}-2`)]).toEqual([4, false]);
  });

  test("admin: promote refuses an address that is not MongoDB's and a folder without a store", async () => {
    const folder = world().session.env["XDG_CONFIG_HOME"] ?? "";
    expect((await gw(`promote --from ${folder} --to http://localhost`)).exit).toBe(2);
    const empty = await gw(`promote --from ${folder} --to mongodb://127.0.0.1:1`);
    expect([empty.exit, empty.err]).toEqual([1, expect.stringContaining("has no embedded store")]);
    expect(existsSync(join(folder, "store.lmdb"))).toBe(false);
  });

  test("admin: the processes, as tables on a terminal and as a document for programs", async () => {
    const { controlPlane, edges } = await json("system");
    expect([controlPlane.store, edges.length]).toEqual(["embedded", 1]);
    const shown = await gw("system", { terminal: true });
    expect(shown.out).toMatch(/^version +\d[\s\S]*\nEDGE +STATUS[\s\S]*\nedge-0-\w+ +ready/);
  });

  test("admin: a provider and a model are created, updated and deleted", async () => {
    const { provider } = await json("providers create --name second --kind echo --key-stdin", { stdin: "a secret key\n" });
    expect((await json(`providers update ${provider.id} --name third`)).provider.name).toBe("third");
    const { model } = await json(
      `models create --name parrot --provider ${provider.id} --inference-model echo --input-price 0.5 --output-price 1.5`,
    );
    expect(model.pricing).toMatchObject({ input: 500_000_000, output: 1_500_000_000, version: 1 });
    const changed = await json(`models update ${model.id} --input-price 1 --output-price 3 --status disabled`);
    expect(changed.model).toMatchObject({ status: "disabled", pricing: { version: 2 } });
    expect((await json("models --search parrot")).data).toHaveLength(1);
    expect((await gw(`models delete ${model.id} --yes`)).exit).toBe(0);
    expect((await gw(`providers delete ${provider.id} --yes`)).exit).toBe(0);
    expect((await gw("providers -q")).out).not.toContain(provider.id);
  });

  test("admin: the list prices of a provider kind", async () => {
    const { data } = await json("models prices --kind openai --search gpt-4o-mini");
    const mini = data.find(({ inferenceModelId }: { inferenceModelId: string }) => inferenceModelId === "gpt-4o-mini");
    expect(mini.pricing).toMatchObject({ unit: "token", input: 150_000_000, output: 600_000_000 });
    expect((await gw("models prices --kind openai --search gpt-4o-mini", { terminal: true })).out).toMatch(/\ngpt-4o-mini +.*0\.15/);
    expect((await gw("models prices --kind none")).exit).toBe(7);
  });

  test("admin: routing, guardrails and the response cache", async () => {
    const { data } = await json("routing");
    expect(data.find(({ name }: { name: string }) => name === "echo").deployments[0]).toMatchObject({ health: { state: "up" } });
    expect((await gw("routing", { terminal: true })).out).toMatch(/^MODEL +STRATEGY +DEPLOYMENTS/);
    expect((await json("guardrails")).data).toEqual([]);
    const words = '--kind word-list --settings {"words":["danube"]}';
    for (const name of ["one", "two"]) expect((await json(`guardrails create --name ${name} ${words}`)).guardrail.name).toBe(name);
    expect((await json("guardrails order --names two,one")).data.map(({ name }: { name: string }) => name)).toEqual(["two", "one"]);
    expect((await json("guardrails try --name one --text danube")).action).toBe("block");
    expect((await json("guardrails update one --off")).guardrail.enabled).toBe(false);
    for (const name of ["one", "two"]) expect((await json(`guardrails delete ${name} --yes`)).deleted).toBe(true);
    expect((await json("routing update echo --strategy least-busy")).stored.strategy).toBe("least-busy");
    expect((await json("routing update echo")).stored.strategy).toBeNull();
    expect((await json("cache set --on --ttl 60")).configured).toMatchObject({ enabled: true, ttlSeconds: 60 });
    expect((await json("cache set --off")).configured.enabled).toBe(false);
    expect(await json("cache show")).toMatchObject({ settings: null, hits: 0 });
    expect((await json("cache clear --yes")).cleared).toBe(true);
    expect((await json("audit --page-size 1")).data[0].action).toBe("cache.clear");
  });

  test("admin: the audit log by action, person and time, and as JSON lines", async () => {
    const [deleted] = (await json("audit --action user.delete --page-size 1")).data;
    expect((await json(`audit --action user.delete --actor ${deleted.actorId} --to 2001-01-01`)).data).toEqual([]);
    const { out } = await gw(`audit --jsonl --action user.delete --actor ${deleted.actorId}`);
    expect(JSON.parse(out.trimEnd().split("\n").at(-1) ?? "")).toEqual(deleted);
  });

  test("admin: the audit log verifies, also with only the master key", async () => {
    const shown = await gw("audit verify", { terminal: true });
    expect([shown.exit, shown.out]).toEqual([0, expect.stringMatching(/^valid +yes\nentries +\d+\nchained +\d+\n/)]);
    expect((await world().session.json("admin audit verify --profile empty", { env: { GW_API_KEY: MASTER_KEY } })).ok).toBe(true);
  });

  test("admin: the ledger verifies, also with only the master key", async () => {
    const shown = await gw("ledger verify", { terminal: true });
    expect([shown.exit, shown.out]).toEqual([0, expect.stringMatching(/^valid +yes\n[\s\S]*sum \(must be 0\) +0\n/)]);
    const replayed = await world().session.json("admin ledger replay --profile empty", { env: { GW_API_KEY: MASTER_KEY } });
    expect(replayed.rollups.equal).toBe(true);
  });
}
