import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, type CallOptions, call } from "../helpers/api.ts";
import { authenticator } from "../helpers/authenticator.ts";
import { ADMIN_EMAIL, ADMIN_PASSWORD, MASTER_KEY, type System, startSystem } from "../helpers/system.ts";
import { printLine } from "./ledger-checks.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-canaries-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A secret, or a text of a customer, under the name it is reported by. */
type Canaries = Map<string, string>;

interface Recorded {
  request: string;
  text: string;
  /** Names of the canaries that this very answer is there to hand out. */
  gives: readonly string[];
}

test("no secret and no customer's text is at rest, in any log at debug level, or in any answer but its own", async () => {
  const mark = randomBytes(6).toString("hex");
  const canaries: Canaries = new Map([
    ["admin password", ADMIN_PASSWORD],
    ["master key", MASTER_KEY],
    // As short as a password may be: an error that quotes some characters around a fault would hold all of it.
    ["short password", `cn${mark.slice(0, 6)}`],
    ...["password", "new password", "wrong password", "credential", "prompt", "completion"].map(
      (name) => [name, `canary-${name.replace(" ", "-")}-${mark}`] as const,
    ),
  ]);
  const system = await startSystem({ trainer: true, env: { DATA_DIR: folder, LOG_LEVEL: "debug" } });
  const answers: Recorded[] = [];
  try {
    await liveThroughEverything(system, canaries, answers);
    await sleep(300);
  } finally {
    await system.stop();
  }
  const files = filesUnder(folder);
  expect(files.length).toBeGreaterThan(1);
  expect([...canaries.keys()]).toEqual(
    expect.arrayContaining(["key", "rotated key", "sign-up token", "refreshed token", "admin token", "second factor", "recovery code 9"]),
  );
  const places = [
    ...files.map((path) => ({ place: path, bytes: readFileSync(path) })),
    { place: "output", bytes: Buffer.from(system.logs()) },
  ];
  // A search that finds nothing because it looks at nothing would pass for ever: what is known to be there must be found.
  expect(hits(places, new Map([["known name", "Canary Team"]]))).not.toEqual([]);
  expect(system.logs()).toContain('"msg":"answered"');

  expect(hits(places, canaries)).toEqual([]);
  expect(answers.flatMap((answer) => leaks(answer, canaries))).toEqual([]);
  expect(openToOthers(folder)).toEqual([]);
  const bytes = places.reduce((total, place) => total + place.bytes.length, 0);
  printLine(
    `canaries: ${canaries.size} secrets and texts, ${answers.length} answers, ${files.length} files and all output (${bytes} bytes): 0 hits`,
  );
});

/** Every operation that takes or makes a secret, each also under an Idempotency-Key and in ways that fail. */
async function liveThroughEverything(system: System, canaries: Canaries, answers: Recorded[]): Promise<void> {
  const of = (name: string) => canaries.get(name) ?? "";
  let writes = 0;
  const ask = async (method: string, path: string, options: CallOptions = {}, gives: readonly string[] = []): Promise<Answer> => {
    const idempotent = method === "GET" ? {} : { "idempotency-key": `canary-write-${writes++}` };
    const answer = await call(system.url, method, path, { ...options, headers: { ...idempotent, ...options.headers } });
    answers.push({
      request: `${method} ${path} -> ${answer.status}`,
      text: `${JSON.stringify([...answer.headers])}\n${answer.text}`,
      gives,
    });
    return answer;
  };
  /** Keeps what an answer hands out; the answer was recorded already, so its permission is added after the fact. */
  const keep = (name: string, secret: string) => {
    expect(secret).toMatch(/^(sk-|ey|[A-Z2-7]{32}$|[a-z2-9]{5}-[a-z2-9]{5}$)/);
    canaries.set(name, secret);
    const last = answers.at(-1);
    if (last) answers[answers.length - 1] = { ...last, gives: [...last.gives, name] };
  };

  // Accounts.
  const email = "canary@example.org";
  const signup = await ask("POST", "/api/auth/signup", { body: { email, password: of("password"), name: "Canary" } });
  expect(signup.status).toBe(201);
  keep("sign-up token", signup.body.token);
  const login = await ask("POST", "/api/auth/token", { body: { email, password: of("password") } });
  keep("token", login.body.token);
  const refreshed = await ask("POST", "/api/auth/token/refresh", { token: login.body.token });
  keep("refreshed token", refreshed.body.token);
  const changed = await ask("POST", "/api/auth/password", {
    token: refreshed.body.token,
    body: { currentPassword: of("password"), newPassword: of("new password") },
  });
  expect(changed.status).toBe(200);
  keep("token after the change", changed.body.token);
  const token = changed.body.token;
  const secondFactor = await ask("POST", "/api/auth/totp", { token, body: { password: of("new password") } });
  keep("second factor", secondFactor.body.secret);
  const otp = await authenticator(secondFactor.body.secret).next();
  const confirmed = await ask("POST", "/api/auth/totp/confirm", { token, body: { otp } });
  for (const [index, code] of confirmed.body.recoveryCodes.entries()) keep(`recovery code ${index}`, code);
  const admin = await ask("POST", "/api/auth/token", { body: { email: ADMIN_EMAIL, password: ADMIN_PASSWORD } });
  keep("admin token", admin.body.token);

  // Keys: made, replayed, rotated, used under every name.
  const team = await ask("POST", "/api/gw/teams", { token, body: { name: "Canary Team" } });
  const teamId = team.body.team.id;
  const replayable = { token, body: { name: "canary key", team_id: teamId }, headers: { "idempotency-key": "canary-key" } };
  const made = await ask("POST", "/api/gw/api-keys", replayable);
  keep("key", made.body.key);
  const replayed = await ask("POST", "/api/gw/api-keys", replayable, ["key"]);
  expect(replayed.body.key).toBe(made.body.key);
  await ask("POST", "/api/api-keys/update", { token, body: { token: of("key"), name: "renamed" } });
  const rotated = await ask("POST", "/api/api-keys/rotate", { token, body: { apiKey: of("key"), graceSeconds: 60 } });
  keep("rotated key", rotated.body.key);
  await ask("POST", "/api/credits/purchase", { token, body: { amountUsd: "1", method: "test" } });

  // A provider's credential.
  const provider = { name: "canary provider", kind: "echo", baseUrl: "http://127.0.0.1:9/v1", apiKey: of("credential") };
  const madeProvider = await ask("POST", "/api/admin/providers", { token: admin.body.token, body: provider });
  expect(madeProvider.status).toBe(201);
  await ask("PATCH", `/api/admin/providers/${madeProvider.body.provider.id}`, {
    token: admin.body.token,
    body: { apiKey: of("credential") },
  });
  const model = {
    name: "canary-model",
    provider: madeProvider.body.provider.id,
    inferenceModelId: "echo",
    pricing: { input: 1, output: 1 },
  };
  expect((await ask("POST", "/api/admin/models", { token: admin.body.token, body: model })).status).toBe(201);

  // Calls: the prompt is never answered, the user's text is (by the echo), and only in the answer itself.
  const messages = [
    { role: "system", content: of("prompt") },
    { role: "user", content: of("completion") },
  ];
  for (const [index, key] of [of("key"), of("rotated key"), MASTER_KEY].entries()) {
    for (const stream of [false, true]) {
      const options = {
        key,
        headers: { "idempotency-key": `canary-call-${index}-${stream}` },
        body: { model: "echo", messages, stream, user: "someone" },
      };
      for (const _again of [1, 2]) expect((await ask("POST", "/v1/chat/completions", options, ["completion"])).status).toBe(200);
    }
  }
  await ask("POST", "/api/gw/messages", { token, body: { model: "echo", messages, apiKey: of("rotated key") } }, ["completion"]);

  await failInEveryWay(ask, { token, email, of, messages });
  await readEverything(ask, { token, adminToken: admin.body.token, key: of("rotated key"), teamId });
  await ask("POST", "/api/api-keys/remove", { token, body: { apiKey: of("rotated key") } });
  await ask("POST", "/api/auth/logout", { token });
}

type Ask = (method: string, path: string, options?: CallOptions, gives?: readonly string[]) => Promise<Answer>;

/** Secrets in bodies and headers that are refused: an error must not say them again. */
async function failInEveryWay(
  ask: Ask,
  { token, email, of, messages }: { token: string; email: string; of: (name: string) => string; messages: object[] },
): Promise<void> {
  const refused = async (answer: Promise<Answer>) => expect((await answer).status).toBeGreaterThanOrEqual(400);
  const [password, wrong, key] = [of("new password"), of("wrong password"), of("rotated key")];
  await refused(ask("POST", "/api/auth/token", { body: { email, password: wrong } }));
  await refused(ask("POST", "/api/auth/token", { body: { email, password: [password] } }));
  await refused(ask("POST", "/api/auth/password", { token, body: { currentPassword: wrong, newPassword: password } }));
  await refused(ask("POST", "/api/auth/password/reset", { body: { token: wrong, newPassword: password } }));
  await refused(ask("POST", "/api/auth/signup", { body: { email: "not an address", password } }));
  await refused(ask("POST", "/api/auth/signup", { body: { email, password } }));
  // Broken JSON in its shortest forms: a parser's message likes to quote what it read.
  const short = of("short password");
  for (const body of [
    `{"p":"${short}"x}`,
    `{"p":"${short}`,
    `x${short}`,
    `"${short}" ${short}`,
    `{"p":${short}}`,
    `{"p":"${password}"x}`,
    `["${key}",]`,
  ]) {
    await refused(ask("POST", "/api/auth/token", { body }));
    await refused(ask("POST", "/v1/chat/completions", { key, body }));
  }
  await refused(ask("POST", "/api/gw/api-keys", { token: `${token}x`, body: { name: key } }));
  await refused(ask("POST", "/api/api-keys/remove", { token, body: { apiKey: `${key}x` } }));
  await refused(ask("POST", "/api/api-keys/remove", { token, body: { apiKey: [key] } }));
  await refused(ask("POST", "/api/admin/providers", { token, body: { name: "p", kind: "echo", apiKey: of("credential") } }));
  await refused(ask("POST", "/v1/chat/completions", { key: `${key.slice(0, -1)}!`, body: { model: "echo", messages } }));
  await refused(ask("POST", "/v1/chat/completions", { token, body: { model: "echo", messages } }));
  await refused(ask("POST", "/v1/chat/completions", { key, body: { model: "echo", messages, n: of("prompt") } }));
  await refused(
    ask("POST", "/v1/chat/completions", { key, body: { model: "echo", messages: [{ role: of("prompt"), content: of("completion") }] } }),
  );
  await refused(
    ask("POST", "/v1/chat/completions", { key, body: { model: "none", messages }, headers: { authorization: `Bearer ${MASTER_KEY}` } }),
  );
  await refused(ask("POST", "/api/gw/messages", { token, body: { model: "echo", messages, apiKey: wrong } }));
  await refused(ask("GET", `/v1/models?api_key=${key}`));
}

/** Everything that can be read afterwards, by the customer and by the administrator. */
async function readEverything(
  ask: Ask,
  { token, adminToken, key, teamId }: { token: string; adminToken: string; key: string; teamId: string },
): Promise<void> {
  const own = [
    "auth/me",
    "api-keys",
    "gw/teams",
    `gw/teams/${teamId}`,
    "gw/organizations/list",
    "gw/logs",
    "gw/logs?format=csv",
    "gw/usage",
  ];
  for (const path of [...own, "balance", "quota", "credits/ledger", "credits/purchases", "models", "providers"]) {
    expect((await ask("GET", `/api/${path}`, { token })).status).toBe(200);
  }
  for (const path of ["admin/users", "admin/audit?pageSize=100", "admin/ledger/verify", "models", "providers"]) {
    expect((await ask("GET", `/api/${path}`, { token: adminToken })).status).toBe(200);
  }
  for (const path of ["/v1/models", "/metrics", "/openapi.json", "/docs", "/health/readiness"]) {
    expect((await ask("GET", path, { key })).status).toBe(200);
  }
}

function leaks({ request, text, gives }: Recorded, canaries: Canaries): string[] {
  // By value: two tokens of one session and one second are the same token.
  const given = gives.map((name) => canaries.get(name));
  return [...canaries].flatMap(([name, canary]) => (text.includes(canary) && !given.includes(canary) ? [`${name} in ${request}`] : []));
}

function hits(places: readonly { place: string; bytes: Buffer }[], canaries: Canaries): string[] {
  return places.flatMap(({ place, bytes }) =>
    [...canaries].flatMap(([name, canary]) =>
      formsOf(canary).flatMap(({ form, needle }) => (bytes.includes(needle) ? [`${name} as ${form} in ${place}`] : [])),
    ),
  );
}

/** A text as it may hide in a file: as it is, in UTF-16, in hex, in base64 at each of its three alignments. A token also by its signature alone. */
function formsOf(canary: string): { form: string; needle: Buffer }[] {
  const raw = Buffer.from(canary);
  const hex = raw.toString("hex");
  const forms = [
    { form: "text", needle: raw },
    { form: "UTF-16", needle: Buffer.from(canary, "utf16le") },
    { form: "UTF-16 big-endian", needle: Buffer.from(canary, "utf16le").swap16() },
    { form: "hex", needle: Buffer.from(hex) },
    { form: "HEX", needle: Buffer.from(hex.toUpperCase()) },
  ];
  for (const [shift, cut] of [
    [0, 0],
    [1, 2],
    [2, 3],
  ] as const) {
    for (const encoding of ["base64", "base64url"] as const) {
      const text = Buffer.concat([Buffer.alloc(shift), raw])
        .toString(encoding)
        .replace(/=+$/, "");
      // The first and the last characters also hold bits of what is beside the canary.
      forms.push({ form: `${encoding} at ${shift}`, needle: Buffer.from(text.slice(cut, -1)) });
    }
  }
  const signature = canary.split(".")[2];
  if (canary.startsWith("ey") && signature !== undefined) forms.push({ form: "signature", needle: Buffer.from(signature) });
  return forms;
}

function filesUnder(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** What anybody but the owner could open: files that are not 0600, folders that are not 0700. */
function openToOthers(path: string): string[] {
  const inside = readdirSync(path, { recursive: true, withFileTypes: true }).map((entry) => join(entry.parentPath, entry.name));
  return [path, ...inside].flatMap((each) => {
    const stat = statSync(each);
    const mode = stat.mode & 0o777;
    return mode === (stat.isDirectory() ? 0o700 : 0o600) ? [] : [`${mode.toString(8)} ${each}`];
  });
}
