import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fakeIo } from "../../cli/io-fixture.ts";
import { run } from "../../cli/run.ts";
import { signedHeaders } from "../../common/webhook-signature.ts";
import { authenticator } from "../helpers/authenticator.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { adminTests } from "./admin.ts";
import { everyCommand, everyOperation, openSession, type Session, settled } from "./session.ts";
import { terminalTests } from "./terminal.ts";
import { trainTests } from "./train.ts";

let system: System;
let session: Session;
const gw: Session["gw"] = (...parts) => session.gw(...parts);
const json: Session["json"] = (...parts) => session.json(...parts);

beforeAll(async () => {
  system = await startSystem({ trainer: true, coordinator: true, env: { ALLOW_PRIVATE_WEBHOOKS: "true" } });
  session = openSession(system.url, { GW_TRAINER_URL: system.trainerUrl });
});
afterAll(async () => {
  session?.close();
  await system?.stop();
});

const CONSOLE = resolve(import.meta.dirname, "../../console/dist/index.html");
const PASSWORD = "a good password";

test("what is public works without any set-up, as a table on a terminal and as JSON in a pipe", async () => {
  const shown = await gw("models --search echo", { terminal: true });
  expect(shown.out.split("\n")).toEqual([
    "NAME  PROVIDER  TYPE  CONTEXT  INPUT/M  OUTPUT/M  STATUS",
    "echo  echo      chat  128,000    $1.00     $2.00  active",
    "",
  ]);
  const piped = await json("models list --search echo --fields name,provider.name,pricing.input");
  expect(piped).toEqual({
    data: [{ name: "echo", "provider.name": "echo", "pricing.input": 1_000_000_000 }],
    meta: { page: 1, pageSize: 20, total: 1, totalPages: 1 },
  });
  expect((await json("models get echo")).model).toMatchObject({ name: "echo", type: "chat" });
  expect((await gw("models get nope")).exit).toBe(6);
  expect((await json("providers list --search echo")).data).toEqual([expect.objectContaining({ name: "echo", kind: "echo" })]);
  expect((await gw("providers -q")).out).toMatch(/^(\w+\n)+$/);
  expect((await gw("providers kinds -q")).out).toContain("openai\nazure\n");
});

test("sign-up, log-out and log-in: the password comes from stdin or a prompt, the token is saved and never shown", async () => {
  expect((await gw("auth me")).exit).toBe(4);
  const made = await gw("auth signup --email ada@example.org --name Ada --password-stdin", { stdin: `${PASSWORD}\n` });
  expect([made.exit, JSON.parse(made.out).user.email, made.out.includes("token")]).toEqual([0, "ada@example.org", false]);
  expect((await json("auth me")).user).toMatchObject({ email: "ada@example.org", role: "user" });
  expect((await json("auth refresh")).expiresAt).toMatch(/^20/);
  const { out: token } = await gw("auth token");
  expect(token).toMatch(/^ey\w+\.\w+/);
  expect((await json("auth me", { env: { GW_TOKEN: token.trim(), GW_PROFILE: "elsewhere" } })).user.email).toBe("ada@example.org");
  expect((await gw("auth refresh", { env: { GW_TOKEN: token.trim() } })).exit).toBe(2);
  expect((await gw("auth logout")).exit).toBe(0);
  expect((await gw("auth me")).exit).toBe(4);
  const asked = await gw("auth login", { terminal: true, answers: ["ada@example.org", PASSWORD] });
  expect([asked.exit, asked.asked]).toEqual([0, ["Email", "Password"]]);
  const wrong = await gw("auth login --email ada@example.org --password-stdin", { stdin: "wrong password\n" });
  expect([wrong.exit, JSON.parse(wrong.err)]).toMatchObject([4, { code: "UNAUTHORIZED", status: 401, retryable: false }]);
  const changed = await gw("auth password --password-stdin --new-password-stdin", { stdin: `${PASSWORD}\nanother password\n` });
  expect(changed.exit).toBe(0);
  expect((await gw("auth login --email ada@example.org --password-stdin", { stdin: "another password\n" })).exit).toBe(0);
  const [current, before] = (await json("auth sessions")).data;
  expect([current.current, before.current]).toEqual([true, false]);
  expect(await json(`auth sessions end ${before.id} --yes`)).toEqual({ ended: 1 });
  expect([(await gw("auth sessions end-others")).exit, (await gw(`auth sessions end ${before.id} --yes`)).exit]).toEqual([2, 6]);
  const others = await gw("auth sessions end-others --yes", { terminal: true });
  expect([others.exit, others.out + others.err]).toEqual([0, expect.stringMatching(/Sessions ended: \d+\./)]);
  expect((await json("auth sessions list")).data).toHaveLength(1);
  expect((await gw("auth reset-request --email nobody@example.org")).exit).toBe(0);
  const reset = await gw("auth reset --token-stdin --password-stdin", { stdin: "no-such-token\nanother password\n" });
  expect([4, 6, 7]).toContain(reset.exit);
  // The system of this test sends no mail.
  expect((await gw("auth verify-email --token-stdin", { stdin: "no-such-token\n" })).exit).toBe(7);
  expect((await gw("auth resend-verification")).exit).toBe(7);
});

test("two-factor authentication: a QR code and a secret, recovery codes once, and a log-in that asks for the code", async () => {
  const own = { env: { XDG_CONFIG_HOME: join(session.env["XDG_CONFIG_HOME"] ?? "", "guarded") } };
  const stdin = { stdin: `${PASSWORD}\n`, ...own };
  await json("auth signup --email zoe@example.org --password-stdin", stdin);
  expect(await json("auth totp", own)).toEqual({ enabled: false, recoveryCodesLeft: 0 });
  const shown = await gw("auth totp enable", { terminal: true, answers: [PASSWORD, "000000"], ...own });
  expect([shown.exit, shown.asked, shown.err]).toEqual([
    4,
    ["Password", "Code of the authenticator app"],
    expect.stringContaining("is wrong"),
  ]);
  expect(shown.out).toMatch(/^secret +[A-Z2-7]{32}\nurl +otpauth:\S+\n\n█{20}/);
  const app = authenticator((await json("auth totp enable --password-stdin", stdin)).secret);
  const { recoveryCodes } = await json(`auth totp confirm --otp ${await app.next()}`, own);
  const login = "auth login --email zoe@example.org --password-stdin";
  const refused = await gw(login, stdin);
  expect([refused.exit, JSON.parse(refused.err).hint]).toEqual([4, expect.stringContaining("--otp")]);
  expect((await gw(`${login} --otp ${await app.next()}`, stdin)).exit).toBe(0);
  const asked = await gw("auth login", { terminal: true, answers: ["zoe@example.org", PASSWORD, recoveryCodes[0]], ...own });
  expect([asked.exit, asked.asked]).toEqual([0, ["Email", "Password", "Two-factor code or recovery code"]]);
  expect(await json("auth totp status", own)).toEqual({ enabled: true, recoveryCodesLeft: 9 });
  const renewed = await json(`auth totp recovery-codes --otp ${await app.next()}`, own);
  expect((await gw(`auth totp disable --otp ${renewed.recoveryCodes[0]}`, own)).exit).toBe(2);
  const disabled = await json(`auth totp disable --otp ${renewed.recoveryCodes[0]} --password-stdin`, stdin);
  expect([disabled, (await gw(login, stdin)).exit]).toEqual([{ enabled: false }, 0]);
});

test("a token in the second half of its life is renewed by the next command; one of another address is never sent", async () => {
  const stored = () => JSON.parse(readFileSync(join(session.env["XDG_CONFIG_HOME"] ?? "", "gw/credentials.json"), "utf8")).profiles.default;
  const [early, late] = [29, 31].map((minutes) => Date.now() + minutes * 60_000);
  const { obtainedAt } = stored();
  expect((await gw("auth me", { nowMs: () => early ?? 0 })).exit).toBe(0);
  expect(stored().obtainedAt).toBe(obtainedAt);
  expect((await gw("auth me", { nowMs: () => late ?? 0 })).exit).toBe(0);
  expect(stored().obtainedAt).toBe(new Date(late ?? 0).toISOString());
  const later = { nowMs: () => Date.now() + 50 * 60_000 };
  const parallel = await Promise.all([gw("auth me", later), gw("auth me", later), gw("teams list", later)]);
  expect([...parallel.map(({ exit }) => exit), (await gw("auth me")).exit]).toEqual([0, 0, 0, 0]);
  const elsewhere = await gw(["auth", "me", "--api-url", system.hostedUrl]);
  expect([elsewhere.exit, JSON.parse(elsewhere.err).code]).toEqual([4, "NOT_LOGGED_IN"]);
});

test("teams and organizations", async () => {
  const made = await json("teams create --name Research");
  const id = made.team.id;
  expect((await json(`teams update ${id} --name Rivers --rpm 100 --max-budget 2.50 --budget-period monthly`)).team).toMatchObject({
    name: "Rivers",
    rpm: 100,
    maxBudget: 2_500_000_000,
  });
  expect((await json(`teams update ${id} --rpm none`)).team.rpm).toBeNull();
  const invited = await json(`teams invite --team ${id} --email bob@example.org --role member`);
  expect(invited.member).toMatchObject({ email: "bob@example.org", status: "invited" });
  expect(invited).toMatchObject({
    inviteUrl: expect.stringMatching(/\/ui\/invite\?.*token=inv_/),
    expiresAt: expect.stringMatching(/^20/),
  });
  const changed = await json(`teams update-member --team ${id} --member ${invited.member.memberId} --role admin`);
  expect(changed.member).toMatchObject({ email: "bob@example.org", role: "admin" });
  const detail = await gw(`teams get ${id}`, { terminal: true });
  expect(detail.out).toContain("bob@example.org");
  const declined = await gw(`teams remove-member --team ${id} --member ${invited.member.memberId}`, { terminal: true, answers: [false] });
  expect([declined.exit, declined.asked.length]).toEqual([3, 1]);
  expect((await gw(`teams remove-member --team ${id} --member ${invited.member.memberId}`)).exit).toBe(2);
  expect((await gw(`teams remove-member --team ${id} --member ${invited.member.memberId} --yes`)).exit).toBe(0);
  expect((await json("teams")).data.map(({ name }: { name: string }) => name).sort()).toEqual(["Default", "Rivers"]);
  const [organization] = (await json("orgs")).data;
  expect((await json(`orgs update --timezone Europe/Berlin --low-balance 0.25`)).organization).toMatchObject({
    timezone: "Europe/Berlin",
    lowBalanceThreshold: 250_000_000,
  });
  expect((await json(`orgs use ${organization.id}`)).organization.isActive).toBe(true);
  expect((await json("orgs storage")).storage.files).toMatchObject({ used: 0, limit: 10 * 1024 ** 3 });
  const [entry] = (await json("orgs audit --action organization.update --page-size 1")).data;
  expect(entry).toMatchObject({ target: organization.id, organizationId: organization.id });
  expect((await gw("orgs audit --jsonl --action organization.update")).out).toContain(JSON.stringify(entry.hash));
});

test("an invitation: listed for its address, accepted with the token of the link, by an account or with the sign-up", async () => {
  const [{ id: team }] = (await json("teams --search Rivers")).data;
  const tokenOf = async (email: string) => {
    const { inviteUrl } = await json(`teams invite --team ${team} --email ${email} --role admin`);
    return new URL(inviteUrl).searchParams.get("token");
  };
  const folderOf = (name: string) => ({ env: { XDG_CONFIG_HOME: join(session.env["XDG_CONFIG_HOME"] ?? "", name) } });
  const guest = folderOf("guest");
  expect((await gw("auth signup --email erin@example.org --password-stdin", { stdin: `${PASSWORD}\n`, ...guest })).exit).toBe(0);
  const empty = await gw("invitations", { terminal: true, ...guest });
  expect(empty.out + empty.err).toContain("No pending invitations.");
  const token = await tokenOf("erin@example.org");
  expect((await json("invitations list", guest)).data).toEqual([expect.objectContaining({ teamId: team, role: "admin" })]);
  expect((await gw(`invitations accept ${token}`)).exit).toBe(5);
  expect(await json(`invitations accept ${token}`, guest)).toMatchObject({ team: { id: team }, member: { role: "admin" } });
  expect((await gw(`invitations accept ${token}`, guest)).exit).toBe(6);
  const invited = ["auth", "signup", "--email", "frank@example.org", "--password-stdin", "--invite-token"];
  const made = await gw([...invited, (await tokenOf("frank@example.org")) ?? ""], { stdin: `${PASSWORD}\n`, ...folderOf("other") });
  expect(made.exit).toBe(0);
  expect((await json(`teams get ${team}`)).team.members.map(({ email }: { email: string }) => email)).toEqual(
    expect.arrayContaining(["erin@example.org", "frank@example.org"]),
  );
});

test("keys: shown once, saved on request, found by ID, and with several teams --team is required", async () => {
  const several = await gw("keys create --name laptop");
  expect([several.exit, JSON.parse(several.err).hint]).toMatchObject([2, expect.stringContaining("Default (team_")]);
  const made = await gw("keys create --name laptop --team Default --rpm 600 --save", { terminal: true });
  expect(made.out).toMatch(/^secret +sk-\w{30,}\n/);
  const listed = await gw("keys", { terminal: true });
  expect(settled(listed.out).split("\n")).toEqual([
    "ID                                     NAME    KEY         TEAM     STATUS  SPEND  LAST USED",
    "key_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  laptop  sk-...xxxx  Default  active  $0.00  -",
    "",
  ]);
  const narrow = await gw("keys", { terminal: true, columns: 60 });
  expect(Math.max(...narrow.out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
  expect(narrow.out).toMatch(/^key_[0-9a-z]{33} /m);
  const chosen = await gw("keys create --name chosen", { terminal: true, answers: ["Default"] });
  expect([chosen.exit, chosen.asked, chosen.out]).toEqual([0, ["Team of the key"], expect.stringMatching(/team +Default\n/)]);
  const removed = await gw("keys remove", { terminal: true, answers: ["chosen", true] });
  expect([removed.exit, removed.asked[0], removed.out]).toEqual([0, expect.stringMatching(/^Choose: key ID/), "Revoked chosen.\n"]);
  expect(removed.asked[1]).toMatch(/^Permanently revoke key_/);
  expect((await gw("keys remove")).exit).toBe(2);
  const other = await json("keys create --name spare --team Default");
  expect((await json(["keys", "rename", other.apiKey.id, "second one"])).apiKey.name).toBe("second one");
  expect((await json(`keys update ${other.apiKey.id} --models echo --tpm 5000`)).apiKey).toMatchObject({ models: ["echo"], tpm: 5000 });
  const { team } = await json("teams create --name Estuary");
  expect((await json(`keys transfer ${other.apiKey.id} --team Estuary`)).apiKey.teamId).toBe(team.id);
  expect((await json(`keys transfer ${other.apiKey.id} --team ${other.apiKey.teamId}`)).apiKey.teamId).toBe(other.apiKey.teamId);
  expect((await gw(`teams delete ${team.id} --yes`)).out).toContain('"deleted": true');
  const { out: rotated } = await gw(`keys rotate ${other.apiKey.id} --grace 60 --yes --quiet`);
  expect(rotated).toMatch(/^sk-\w{30,}\n$/);
  const dry = await json(`keys remove ${other.apiKey.id} --dry-run`);
  expect(dry).toEqual({ method: "POST", url: `${system.url}/api/api-keys/remove`, body: { apiKey: other.apiKey.id } });
  expect((await gw(`keys remove ${other.apiKey.id} --yes`)).exit).toBe(0);
  expect((await gw(`keys remove ${other.apiKey.id} --yes`)).exit).toBe(6);
  expect((await gw(["keys", "create", "--name", "", "--team", "Default"])).exit).toBe(7);
});

test("without credits a call is refused with a code of its own; a purchase mends it", async () => {
  expect((await gw("balance", { terminal: true })).out).toBe("$0.00 (0 nano-USD), active\n");
  const refused = await gw(["chat", "hello river"], { terminal: true });
  expect([refused.exit, refused.err]).toEqual([
    8,
    expect.stringMatching(/^error: .*credits.*\(QUOTA_EXCEEDED, 429, request req_\w+\)\nhint: .*gw credits buy/),
  ]);
  const bought = await json("credits buy --usd 1.50 --idempotency-key once");
  const again = await json("credits buy --usd 1.50 --idempotency-key once");
  expect([bought.purchase.amount, again.purchase.id]).toEqual([1_500_000_000, bought.purchase.id]);
  expect((await gw("credits buy")).exit).toBe(2);
  expect((await json("credits history")).data).toHaveLength(1);
  expect((await json(`credits receipt ${bought.purchase.id}`)).receipt.net).toBe(1_500_000_000);
  expect((await json("credits ledger --type purchase")).data).toHaveLength(1);
  expect((await json("quota")).quota).toMatchObject({ totalPurchased: 1_500_000_000, status: "active" });
});

test("chat: text on a terminal and in a pipe, one document with --json, a conversation that remembers, and no escape sequence of a model", async () => {
  expect((await gw(["chat", "hello river"], { terminal: true })).out).toBe("hello river\n");
  expect((await gw("chat --model echo", { stdin: "from a pipe\n" })).out).toBe("from a pipe\n");
  expect((await gw(["chat", "--no-stream", "at once"], { terminal: true })).out).toBe("at once\n");
  expect((await json(["chat", "--json", "--platform", "by the platform"])).choices[0].message.content).toBe("by the platform");
  const talk = await gw("chat --max-tokens 50", { terminal: true, answers: ["one", "two", "/new", "three", "/exit"] });
  expect([talk.exit, talk.out]).toEqual([0, "one\ntwo\nthree\n"]);
  // The second request contains the first exchange; after /new the third does not.
  expect(talk.err.match(/\d+ tokens in/g)).toEqual(["1 tokens in", "3 tokens in", "1 tokens in"]);
  expect(talk.err).toContain("1 tokens in, 1 out, $0.000003");
  expect((await gw(["chat", "red \u001b[31m text"], { terminal: true })).out).not.toContain("\u001b");
  expect((await gw("chat --model nope hello")).exit).toBe(6);
  expect((await gw("chat")).exit).toBe(2);
  expect((await gw("chat hello", { env: { GW_API_KEY: "sk-wrong" } })).exit).toBe(4);
  const keyless = await gw("chat", { terminal: true, env: { GW_PROFILE: "keyless" } });
  expect([keyless.exit, keyless.asked, keyless.err]).toEqual([4, [], expect.stringContaining("gw keys create")]);
});

test("logs and usage: the same sums, one call explained down to its ledger entry", async () => {
  const listed = await json("logs --page-size 2 --status success");
  const usage = await json("usage --by model");
  expect(listed.data).toHaveLength(2);
  const all = await json("logs --all");
  expect((await json("logs")).meta.totals).toEqual(usage.meta.totals);
  expect(all.data.filter(({ status }: { status: string }) => status !== "refused")).toHaveLength(listed.meta.total);
  const { out } = await gw(["logs", "explain", listed.data.at(-1).id], { terminal: true });
  expect(settled(out)).toMatch(/^call_x+ {2}\/v1\/chat\/completions, streamed\nstatus +success, HTTP 200\n/);
  expect(out).toMatch(/output +\d+ at \$2\.00 per million: \$0\.\d+\ncost +\$0\.\d+ \([\d,]+ nano-USD\), price version 1/);
  expect(out).toMatch(/ledger +entry \d+, hash [0-9a-f]{64}/);
  expect((await json(["logs", "receipt", listed.data[0].id])).algorithm).toBe("Ed25519");
  expect((await gw("logs explain call_nope")).exit).toBe(6);
  // Prompts are stored only where logContent is on.
  expect((await gw(["logs", "content", listed.data[0].id])).exit).toBe(6);
  const costs = (await json("logs --sort -cost")).data.map(({ cost }: { cost: number }) => cost);
  expect(costs).toEqual(costs.toSorted((left: number, right: number) => right - left));
  expect((await gw("logs --csv --sort -cost")).exit).toBe(2);
  expect((await gw("logs --csv")).out.split("\n")[0]).toMatch(/^id,createdAt,/);
  expect((await gw("logs --status nope")).exit).toBe(2);
});

test("logs --follow shows a call soon after it was made, as a line of JSON, and ends at Ctrl-C with 130", async () => {
  const interrupt = new AbortController();
  const io = fakeIo({ env: session.env, signal: interrupt.signal });
  const following = run(["logs", "--follow"], io);
  await until(() => io.err().includes("Waiting for calls"));
  const rows = () => (io.out() === "" ? [] : io.out().trim().split("\n")).map((line) => JSON.parse(line));
  const before = rows().length;
  await gw(["chat", "seen while followed"]);
  await until(() => rows().length > before);
  interrupt.abort();
  expect(await following).toBe(130);
  const {
    data: [newest],
    meta,
  } = await json("logs --page-size 1");
  // It begins with the last ten calls.
  expect([before, rows().length, rows().at(-1).id]).toEqual([Math.min(10, meta.total - 1), before + 1, newest.id]);
});

test("webhooks", async () => {
  const made = await json("webhooks create --url https://127.0.0.1:9/hook --events key.created,key.removed");
  expect(made.secret).toMatch(/^whsec_/);
  expect((await json("webhooks")).data).toHaveLength(1);
  expect((await json(`webhooks test ${made.webhook.id}`)).delivery.type).toBe("webhook.test");
  expect((await json(`webhooks deliveries ${made.webhook.id}`)).data).toHaveLength(1);
  expect((await gw(`webhooks remove ${made.webhook.id} --yes`)).exit).toBe(0);
});

test("prompt templates", async () => {
  const made = await json('prompts create --name hi --template {"instructions":"Say.{{word}}"}');
  expect(made).toMatchObject({ object: "prompt", version: "1" });
  const added = await json(`prompts add-version ${made.id} --template {"instructions":"Cry.{{word}}"} --not-current`);
  expect(added).toMatchObject({ version: "2", variables: ["word"] });
  expect(await json(`prompts change ${made.id} --use 2`)).toMatchObject({ version: "2", latest_version: "2" });
  expect((await json(`prompts versions ${made.id}`)).data).toHaveLength(2);
  expect(await json(`prompts show-version ${made.id} 1`)).toMatchObject({ template: { instructions: "Say.{{word}}" } });
  expect([await json(`prompts show ${made.id}`), (await json("prompts")).data]).toMatchObject([{ id: made.id }, [{ id: made.id }]]);
  expect((await gw(`prompts remove ${made.id} --yes`)).exit).toBe(0);
});

test("listen: events arrive without a public address, are forwarded with a signature, and the webhook goes with the command", async () => {
  const received: { id: unknown; signed: boolean; type: string }[] = [];
  let secret = "";
  const local = createServer(async (request, response) => {
    const body = (await request.toArray()).join("");
    const [id, timestamp] = [String(request.headers["webhook-id"]), Number(request.headers["webhook-timestamp"])];
    const expected = signedHeaders({ id, body, secret, now: timestamp * 1000 })["webhook-signature"];
    received.push({ id, signed: request.headers["webhook-signature"] === expected, type: JSON.parse(body).type });
    response.end();
  });
  const interrupt = new AbortController();
  await once(local.listen(0, "127.0.0.1"), "listening");
  const { port } = local.address() as AddressInfo;
  const io = fakeIo({ env: session.env, signal: interrupt.signal });
  const listening = run(["listen", "--events", "key.created", "--forward-to", `http://127.0.0.1:${port}/hook`], io);
  await until(() => io.err().includes("Waiting for events"));
  secret = /whsec_\S+/.exec(io.err())?.[0] ?? "";
  await json("keys create --name heard --team Default");
  await until(() => io.out() !== "");
  interrupt.abort();
  expect(await listening).toBe(130);
  local.close();
  expect(received).toEqual([{ id: expect.any(String), signed: true, type: "key.created" }]);
  expect(JSON.parse(io.out())).toMatchObject({ id: received[0]?.id, event: { type: "key.created" }, forwarded: "HTTP 200" });
  expect((await json("webhooks")).data).toEqual([]);
  expect((await gw("listen --forward-to nowhere")).exit).toBe(2);
});

/** Waits for a condition that another part of the process fulfils; the test's own limit ends it. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setImmediate();
}

test("open and up need no server", async () => {
  expect((await json("open keys")).url).toBe(`${system.url}/ui/keys`);
  expect((await gw("up")).became).toHaveLength(1);
});

test("alerts", async () => {
  const made = await json("alerts create --name errors --error-rate 2.5 --window 30 --slack-url https://127.0.0.1:9/services/s3cret");
  expect(made.alert).toMatchObject({
    metric: "error_rate",
    errorRatePercent: 2.5,
    windowMinutes: 30,
    slackHost: "127.0.0.1:9",
    state: "ok",
  });
  const changed = await json(`alerts update ${made.alert.id} --spend 25 --period month --slack-url none`);
  expect(changed.alert).toMatchObject({ metric: "spend", spend: 25_000_000_000, period: "month", slackHost: null });
  expect((await json("alerts")).data).toHaveLength(1);
  expect((await json(`alerts test ${made.alert.id}`)).receivers).toBe(1);
  expect((await json(`alerts deliveries ${made.alert.id}`)).data).toHaveLength(1);
  expect((await gw(`alerts remove ${made.alert.id} --yes`)).exit).toBe(0);
});

test("MCP servers", async () => {
  const made = await json('mcp create --name weather --url https://127.0.0.1:9/mcp --headers {"x-key":"s3cret"} --price 0.002');
  expect(made.server).toMatchObject({ name: "weather", headerNames: ["x-key"], pricePerCall: 2_000_000 });
  expect((await json("mcp")).data).toHaveLength(1);
  expect((await gw(`mcp remove ${made.server.id} --yes`)).exit).toBe(0);
});

test("what only administrators may do is a code of its own for everybody else", async () => {
  expect((await gw("admin users")).exit).toBe(5);
});

test("api reaches any operation, as the person or with the key", async () => {
  expect((await json("api GET /api/auth/me")).user.email).toBe("ada@example.org");
  expect((await json("api get /v1/models")).object).toBe("list");
  const sent = await json(["api", "POST", "/v1/chat/completions", "-d", "@-"], {
    stdin: '{"model":"echo","messages":[{"role":"user","content":"raw"}]}',
  });
  expect(sent.choices[0].message.content).toBe("raw");
  const stream = await gw([
    "api",
    "POST",
    "/v1/chat/completions",
    "-d",
    '{"model":"echo","stream":true,"messages":[{"role":"user","content":"raw"}]}',
  ]);
  expect(stream.out.trimEnd().endsWith("data: [DONE]")).toBe(true);
  expect((await gw("api GET /api/auth/me --as none")).exit).toBe(4);
  expect((await gw("api FETCH /x")).exit).toBe(2);
  expect((await gw("api GET /api/gw/teams -i")).out).toMatch(/^HTTP 200\n/);
});

test("settings: flag before environment before profile before default, and doctor names what is wrong", async () => {
  expect((await gw("config set model echo")).exit).toBe(0);
  expect((await gw("config get model -q")).out).toBe("echo\n");
  expect((await gw("--profile other config set api-url http://127.0.0.1:9")).exit).toBe(0);
  expect((await gw("--profile other config get api-url -q", { env: { GW_API_URL: "" } })).out).toBe("http://127.0.0.1:9\n");
  expect((await json("config profiles")).data.map(({ profile }: { profile: string }) => profile)).toEqual(["default", "other"]);
  expect((await json("config show")).data).toContainEqual({ setting: "api-url", value: system.url, from: "GW_API_URL" });
  expect((await gw("config unset model")).exit).toBe(0);
  expect((await gw("config get model")).exit).toBe(6);
  expect((await gw("config set nope 1")).exit).toBe(2);
  expect((await gw("config use default")).exit).toBe(0);
  const healthy = await json("doctor");
  expect(healthy.data.map(({ check, result }: { check: string; result: string }) => `${check} ${result}`)).toEqual(
    ["settings", "server", "clock", "login", "API key", "credits", "trainer"].map((check) => `${check} ok`),
  );
  expect((await gw("doctor", { nowMs: () => Date.now() + 120_000 })).exit).toBe(1);
  expect((await gw("doctor --api-url http://127.0.0.1:9")).exit).toBe(9);
  expect((await gw("balance --api-url http://127.0.0.1:9", { env: { GW_TOKEN: "x" } })).exit).toBe(9);
  expect((await json("version")).server.title).toBe("Tributary");
});

test("conform: every operation of the documents passes here, and a server that has none of them fails", async () => {
  // The console's pages exist only after a build, which `make test` does.
  const documents = ["platform", "gateway", "hosted", "participant", ...(existsSync(CONSOLE) ? ["pages"] : [])];
  const passed = await gw(["conform", system.url, "--hosted-url", system.hostedUrl, "--only", documents.join(",")]);
  const { data, meta } = JSON.parse(passed.out);
  expect(data.filter(({ result }: { result: string }) => result !== "pass")).toEqual([]);
  expect([passed.exit, meta.failed, meta.passed]).toEqual([0, 0, documents.includes("pages") ? 79 : 76]);
  const failing = await gw(["conform", system.url, "--trainer-url", system.url, "--only", "participant", "--failed"]);
  expect([failing.exit, JSON.parse(failing.out).meta]).toMatchObject([1, { passed: 0, failed: 3 }]);
});

test("help is data too, and a wrong word is a usage error", async () => {
  expect(JSON.parse((await gw("help --json")).out).commands.length).toBeGreaterThan(15);
  expect((await gw("help keys create")).out).toContain("POST /api/gw/api-keys");
  expect((await gw("keys create --nope")).exit).toBe(2);
  expect((await gw("nope")).exit).toBe(2);
  expect((await gw("--help")).exit).toBe(0);
});

adminTests(() => ({ session }));
trainTests(() => ({ session, system }));
terminalTests(() => ({ session, system }));

test("every operation of the platform has a command", async () => {
  const document = await json("api GET /openapi.json");
  const offered = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
  );
  const missing = offered.filter((operation) => / \/(api|training)\//.test(operation) && !everyOperation.has(operation));
  expect(missing.sort()).toEqual(OTHERWISE.filter((operation) => offered.includes(operation)));
});

/** Operations without a command of their own: part of another command, an alias, or not for people. */
const OTHERWISE = [
  "DELETE /api/auth/session",
  "DELETE /training/join",
  "DELETE /training/nodes/:id/:path",
  "GET /api/agents/skill",
  "GET /api/auth/oidc",
  "GET /api/auth/oidc/:provider",
  "GET /api/auth/oidc/:provider/callback",
  "GET /api/gw/logs/:id",
  "GET /training/federations/:id/events",
  "GET /training/federations/:id/rounds/:round/parameters",
  "GET /training/join/blobs/:sha256",
  "GET /training/join/tasks",
  "GET /training/nodes/:id/:path",
  "PATCH /training/nodes/:id/:path",
  "POST /api/auth/register",
  "POST /api/auth/session",
  "POST /api/auth/session/refresh",
  "POST /api/gw/messages",
  "POST /api/webhooks/payments/stripe",
  "POST /training/join",
  "POST /training/join/tasks/:task",
  "POST /training/join/tasks/:task/progress",
  "POST /training/nodes/:id/:path",
  "PUT /api/admin/models/:id",
  "PUT /training/nodes/:id/:path",
];

test("every command was run, but those of training, which have a suite of their own", () => {
  expect(everyCommand.filter((command) => !session.used.has(command) && !command.startsWith("train "))).toEqual([]);
});
