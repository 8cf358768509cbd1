import { once } from "node:events";
import { connect } from "node:net";
import { type Answer, adminToken, call, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { type Example, furnishedTenant, INPUTS, type Things } from "./inputs.ts";
import { dump, eachOf, fieldsOf, nameOf, operations, pathOf, raw } from "./support.ts";

// Every field of every operation, from the table's own schemas, against what an attacker would put there.

const LEAKS = /\bat .{1,200}\(|node_modules|Mongo|ECONN|\blmdb\b|\.ts:\d|\/work\/|\bgrpc\b|\bzod\b/i;

let system: System;
let tenant: Tenant;
let things: Things;
let admin: string;

beforeAll(async () => {
  system = await startSystem();
  admin = await adminToken(system);
  ({ tenant, things } = await furnishedTenant(system, { name: "target", admin }));
});
afterAll(() => system.stop());

type Entry = (typeof operations)[number];
interface Shot {
  entry: Entry;
  where: string;
  path: string;
  body?: string;
  /** True: must be refused. False: may be a legal value, so only an error of ours is wrong. */
  refuse: boolean;
}

/** JSON texts, for what JSON.stringify would not write. */
const WRONG_VALUES: readonly [string, string, allowedAs?: string][] = [
  ["an operator", '{"$gt":""}', "object"],
  ["code for a database", '{"$where":"1"}', "object"],
  ["an array", '["a","b"]', "array"],
  ["an array of operators", '[{"$ne":null}]'],
  ["a number", "1234567", "number"],
  ["a huge number", "1e400", "none"],
  ["a flag", "true", "boolean"],
  ["a million characters", `"${"A".repeat(1_000_000)}"`],
  ["NUL", '"a\\u0000bcdefghijk"'],
  ["half a surrogate pair", '"abcdefgh\\ud800"'],
  ["the other half", '"\\udc00abcdefgh"'],
  ["a prototype", '{"__proto__":{"role":"admin"}}'],
  ["a constructor", '{"constructor":{"prototype":{"role":"admin"}}}'],
  ["very deep arrays", `${"[".repeat(5000)}${"]".repeat(5000)}`],
  ["very deep objects", `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`],
];
const ODD_TEXTS = [
  "\u202Egnp.exe",
  "مرحبا بالعالم",
  "' OR '1'='1",
  "{{7*7}}<%= 7*7 %>",
  "../../etc/passwd",
  "%00%0d%0aset-cookie: x=1",
  "🦊".repeat(10),
];

const tokenFor = (entry: Entry) => (entry.auth === "admin" ? admin : entry.auth === "user" ? tenant.token : undefined);
const exampleOf = (entry: Entry): Example => INPUTS[nameOf(entry)]?.example(things) ?? {};
const fire = ({ entry, path, body }: Shot): Promise<Answer> =>
  call(system.url, entry.method.toUpperCase(), path, { token: tokenFor(entry), ...(body === undefined ? {} : { body }) });

function judge(shot: Shot, answer: Answer): void {
  const { status, text } = answer;
  const seen = `${nameOf(shot.entry)} ${shot.where}: ${status} ${text.slice(0, 400)}`;
  if (status >= 500 || status < 200) throw new Error(`not refused but broken: ${seen}`);
  if (shot.refuse && status < 400) throw new Error(`not refused: ${seen}`);
  if (status >= 400 && LEAKS.test(text)) throw new Error(`says too much: ${seen}`);
  // An error does not repeat a large input.
  if (status >= 400 && text.length > 5000) throw new Error(`echoes its input: ${seen}`);
}

/** A body with one field set to a JSON text. */
function bodyWith(example: Example, path: readonly string[], json: string): string {
  const [first = "", ...rest] = path;
  const value = rest.length === 0 ? json : `{${JSON.stringify(rest[0])}:${json}}`;
  const others = Object.entries(example.body ?? {}).filter(([name]) => name !== first);
  return `{${[...others.map(([name, inner]) => `${JSON.stringify(name)}:${JSON.stringify(inner)}`), `${JSON.stringify(first)}:${value}`].join(",")}}`;
}

const withBody = operations.filter(({ body }) => body);
const table = (entries: readonly Entry[]) => entries.map((entry) => [nameOf(entry), entry] as const);

/** What is public and what the admin can see, to prove that nothing was made. */
async function worldOf(): Promise<unknown> {
  const count = async (path: string) => (await call(system.url, "GET", path, { token: admin })).body.meta.total;
  return {
    dump: await dump(system.url, tenant.token),
    users: await count("/api/admin/users"),
    models: await count("/api/admin/models"),
    providers: await count("/api/admin/providers"),
  };
}

describe("wrong values are refused and nothing is made of them", () => {
  let before: unknown;
  beforeAll(async () => {
    before = await worldOf();
  });
  afterAll(async () => {
    expect(await worldOf()).toEqual(before);
  });

  test.each(table(withBody))("%s: every field of the body", async (_name, entry) => {
    const example = exampleOf(entry);
    const path = pathOf(entry.path, example.params);
    const shots: Shot[] = fieldsOf(entry.body).flatMap(({ path: field, types }) => {
      const wrong = WRONG_VALUES.filter(([, , as]) => as === undefined || !(types.has(as) || (as === "number" && types.has("integer"))));
      return wrong.map(([what, json]) => ({
        entry,
        where: `${field.join(".")} = ${what}`,
        path,
        body: bodyWith(example, field, json),
        refuse: true,
      }));
    });
    expect(shots.length > 0 || fieldsOf(entry.body).length === 0).toBe(true);
    await eachOf(shots, async (shot) => judge(shot, await fire(shot)));
  });

  test.each(table(withBody))("%s: the body as a whole", async (_name, entry) => {
    const example = exampleOf(entry);
    const path = pathOf(entry.path, example.params);
    const valid = JSON.stringify(example.body);
    const opened = valid === "{}" ? "{" : `${valid.slice(0, -1)},`;
    const bodies: [string, string][] = [
      ["a prototype", `${opened}"__proto__":{"role":"admin","isAdmin":true}}`],
      ["a constructor", `${opened}"constructor":{"prototype":{"role":"admin"}}}`],
      ["a deep prototype", `${opened}"x":{"y":{"__proto__":{"role":"admin"}}}}`],
      ["an array around it", `[${valid}]`],
      ["a string around it", JSON.stringify(valid)],
      ["a number", "7"],
      ["very deep", `${opened}"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
      ["cut off", valid.slice(0, -1)],
      ["two of them", `${valid}${valid}`],
      ["a comment", `/* x */${valid}`],
      ["NaN", `${opened}"x":NaN}`],
      ...Object.keys(example.body ?? {}).map((name): [string, string] => [`${name} twice`, `${opened}${JSON.stringify(name)}:{"$gt":""}}`]),
    ];
    const shots = bodies.map(([where, body]): Shot => ({ entry, where, path, body, refuse: true }));
    await eachOf(shots, async (shot) => judge(shot, await fire(shot)));
  });

  test.each(table(operations.filter(({ query }) => query)))("%s: every field of the query", async (_name, entry) => {
    const shots = fieldsOf(entry.query).flatMap(({ path: [name = ""] }): Shot[] => {
      const ask = (where: string, query: string, refuse: boolean): Shot => ({
        entry,
        where: `${name} ${where}`,
        path: `${entry.path}?${query}`,
        refuse,
      });
      return [
        ask("twice", `${name}=a&${name}=b`, true),
        ask("NUL", `${name}=a%00b`, true),
        ask("not UTF-8", `${name}=%ff%fe`, false),
        ask("half a pair", `${name}=%ed%a0%80`, false),
        ask("very long", `${name}=${"A".repeat(10_000)}`, true),
        ask("a million characters", `${name}=${"A".repeat(1_000_000)}`, true),
        ask("operator key", `${name}[$gt]=`, false),
        ask("prototype key", `__proto__[${name}]=x`, false),
        ask("operator text", `${name}=${encodeURIComponent('{"$gt":""}')}`, false),
        ...ODD_TEXTS.map((text) => ask(text, `${name}=${encodeURIComponent(text)}`, false)),
      ];
    });
    await eachOf(shots, async (shot) => judge(shot, await fire(shot)));
  });

  test.each(table(operations.filter(({ params }) => params)))("%s: its path", async (_name, entry) => {
    const ids = [
      "%00",
      "a%00b",
      "%ff",
      "A".repeat(10_000),
      "..%2f..%2fetc",
      "%7B%22%24gt%22%3A%22%22%7D",
      "__proto__",
      "constructor",
      "%20",
      "%e2%80%ae",
      "-1",
      "1e9",
    ];
    const { body } = exampleOf(entry);
    const shots = ids.map(
      (id): Shot => ({
        entry,
        where: id.slice(0, 40),
        path: entry.path.replace(":id", id),
        refuse: true,
        ...(body ? { body: JSON.stringify(body) } : {}),
      }),
    );
    await eachOf(shots, async (shot) => judge(shot, await fire(shot)));
  });
});

test.each(table(withBody.filter(({ path }) => !/\/(password|totp\b.*)$/.test(path))))(
  "%s: odd but legal texts are no error of ours",
  async (_name, entry) => {
    for (const text of ODD_TEXTS) {
      const shots = fieldsOf(entry.body)
        .filter(({ types }) => types.has("string"))
        .map(({ path }): Shot => {
          const example = exampleOf(entry);
          return {
            entry,
            where: `${path.join(".")} = ${text}`,
            path: pathOf(entry.path, example.params),
            body: bodyWith(example, path, JSON.stringify(text)),
            refuse: false,
          };
        });
      await eachOf(shots, async (shot) => judge(shot, await fire(shot)));
    }
  },
);

describe("mass assignment", () => {
  const SENTINEL = 424_242_424_242;
  const EXTRAS: Readonly<Record<string, unknown>> = {
    role: "admin",
    balance: SENTINEL,
    balanceUsd: "sentinel",
    id: "sentinel_id",
    organizationId: "org_sentinel",
    organization_id: "org_sentinel",
    ownerId: SENTINEL,
    status: "sentinel",
    spend: SENTINEL,
    createdBy: SENTINEL,
    created_by: SENTINEL,
    isActive: "sentinel",
    isAdmin: true,
    userId: SENTINEL,
    createdAt: "2001-01-01T00:00:00.000Z",
    updatedAt: "2001-01-01T00:00:00.000Z",
    blockedReason: "sentinel",
    hash: "sentinel",
    maskedKey: "sentinel",
    key: "sk-sentinel",
    purchaseId: "pur_sentinel",
    ledgerSeq: SENTINEL,
    completedAt: "2001-01-01T00:00:00.000Z",
    passwordHash: "sentinel",
    lastLoginAt: "2001-01-01T00:00:00.000Z",
    blockedByAdminAt: 1,
    memberCount: SENTINEL,
  };

  test.each(table(withBody))("%s: fields that are not its own have no effect", async (name, entry) => {
    const owner = entry.auth === "admin" ? undefined : await newTenant(system, { creditNano: 1000 });
    const example = INPUTS[name]?.example(ownThings(owner)) ?? {};
    const declared = new Set(fieldsOf(entry.body).map(({ path: [field] }) => field));
    const extras = Object.fromEntries(Object.entries(EXTRAS).filter(([field]) => !declared.has(field)));
    const before = owner && (await call(system.url, "GET", "/api/auth/me", { token: owner.token })).body;
    const answer = await call(system.url, entry.method.toUpperCase(), pathOf(entry.path, example.params), {
      token: entry.auth === "user" ? owner?.token : tokenFor(entry),
      body: { ...extras, ...example.body },
    });
    expect(answer.status).toBeLessThan(500);
    expect(answer.text).not.toMatch(/sentinel|424242424242|2001-01-01/);
    if (owner) await expectUntouched(entry, { owner, before, token: answer.body?.token ?? owner.token });
  });

  /** Checks that user, role and credit are unchanged and that nothing injected shows in what the user can read. */
  async function expectUntouched(
    entry: Entry,
    { owner, before, token }: { owner: Tenant; before: Answer["body"]; token: string },
  ): Promise<void> {
    const after = (await call(system.url, "GET", "/api/auth/me", { token })).body;
    const grown = nameOf(entry) === "post /api/credits/purchase" ? 1_000_000 : 0;
    expect(after.user.role).toBe("user");
    if (entry.auth === "user") {
      const balance = before.organization.balance + grown;
      expect({ id: after.user.id, balance: after.organization.balance }).toEqual({ id: owner.userId, balance });
    }
    expect(JSON.stringify(await dump(system.url, token))).not.toMatch(/sentinel|424242424242|2001-01-01/);
  }

  function ownThings(owner: Tenant | undefined): Things {
    if (!owner) return things;
    return {
      ...things,
      organizationId: owner.organizationId,
      teamId: owner.teamId,
      keyId: owner.keyId,
      memberId: String(owner.userId),
      userId: String(owner.userId),
    };
  }
});

describe("chat bodies", () => {
  test("hostile chat requests are refused or answered, never broken", async () => {
    const message = '"model":"echo","messages":[{"role":"user","content":"hi"}]';
    const bodies = [
      `{${message},"__proto__":{"isAdmin":true}}`,
      `{${message},"constructor":{"prototype":{"x":1}}}`,
      `{${message},"user":{"$gt":""}}`,
      `{${message},"metadata":{"__proto__":{"tags":["x"]}}}`,
      `{${message},"metadata":{"tags":[{"$gt":""}]}}`,
      `{${message},"metadata":{"tags":"x"}}`,
      `{${message},"user":"a\\u0000b"}`,
      `{${message},"user":"\\ud800"}`,
      `{${message},"user":"${"u".repeat(100_000)}"}`,
      `{${message},"max_tokens":1e400}`,
      `{${message},"max_tokens":9007199254740993}`,
      `{${message},"n":-1}`,
      `{${message},"stop":["","","",""]}`,
      `{${message},"seed":1e308}`,
      `{"model":"__proto__","messages":[{"role":"user","content":"hi"}]}`,
      `{"model":"constructor","messages":[{"role":"user","content":"hi"}]}`,
      `{"model":"echo","messages":[{"role":"__proto__","content":"hi"}]}`,
      `{"model":"echo","messages":[{"role":"user","content":"\\ud800\\u0000"}]}`,
      `{"model":"echo","messages":[{"role":"user","content":[{"type":"text","text":"\\udfff"}]}]}`,
      `{"model":"echo","messages":{"length":1}}`,
      `{"model":{"$gt":""},"messages":[]}`,
      `{"model":"${"m".repeat(100_000)}","messages":[{"role":"user","content":"hi"}]}`,
      `{${message},"tools":${"[".repeat(60)}${"]".repeat(60)}}`,
    ];
    expect((await call(system.url, "POST", "/v1/chat/completions", { key: tenant.key, body: `{${message}}` })).status).toBe(200);
    for (const body of bodies) {
      const answer = await call(system.url, "POST", "/v1/chat/completions", { key: tenant.key, body });
      if (answer.status >= 500) throw new Error(`${body.slice(0, 100)}: ${answer.status} ${answer.text}`);
      if (answer.status >= 400) expect(answer.text).not.toMatch(LEAKS);
      expect(answer.text.length).toBeLessThan(5000);
    }
    const logs = await call(system.url, "GET", "/api/gw/logs?pageSize=100", { token: tenant.token });
    expect(logs.status).toBe(200);
    expect((await call(system.url, "GET", "/api/gw/logs?format=csv", { token: tenant.token })).status).toBe(200);
  });
});

describe("bytes that are no request", () => {
  const alive = async () => expect((await call(system.url, "GET", "/health/liveliness")).status).toBe(200);
  const host = () => new URL(system.url).host;
  const start = (line: string, headers = "") => `${line}\r\nhost: ${host()}\r\nconnection: close\r\n${headers}\r\n`;

  test.each([
    ["no HTTP at all", () => "hello\r\n\r\n", [400]],
    ["a TLS greeting", () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [400]],
    ["an HTTP/2 greeting", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 505]],
    ["huge headers", () => start("GET /api/models HTTP/1.1", `x-big: ${"a".repeat(100_000)}\r\n`), [431]],
    ["a huge target", () => start(`GET /api/models?search=${"a".repeat(100_000)} HTTP/1.1`), [400, 414, 431]],
    ["an absolute address", () => start(`GET http://elsewhere.example/api/models HTTP/1.1`), [400, 404, 421]],
    ["TRACE", () => start("TRACE /api/models HTTP/1.1"), [400, 405, 501]],
    ["CONNECT", () => start("CONNECT elsewhere.example:443 HTTP/1.1"), [0, 400, 405, 501]],
    ["an unknown method", () => start("BREW /api/models HTTP/1.1"), [400, 405, 501]],
    ["two lengths", () => start("POST /api/auth/token HTTP/1.1", "content-length: 2\r\ncontent-length: 3\r\n"), [400]],
    [
      "length and chunks",
      () => `${start("POST /api/auth/token HTTP/1.1", "content-length: 2\r\ntransfer-encoding: chunked\r\n")}0\r\n\r\n`,
      [400],
    ],
    ["a broken chunk", () => `${start("POST /api/auth/token HTTP/1.1", "transfer-encoding: chunked\r\n")}zz\r\n`, [400]],
    ["a negative length", () => start("POST /api/auth/token HTTP/1.1", "content-length: -5\r\n"), [400]],
    ["no host", () => "GET /api/models HTTP/1.1\r\n\r\n", [400]],
    ["two hosts", () => start("GET /api/models HTTP/1.1", "Host: elsewhere.example\r\n"), [400]],
    ["two equal hosts on an inference path", () => start("POST /v1/chat/completions HTTP/1.1", `HOST: ${host()}\r\n`), [400]],
    ["a bare line feed in a header", () => start("GET /api/models HTTP/1.1", "x-a: b\ncontent-length: 3\r\n"), [200, 400]],
    ["a post without any body", () => start("POST /api/auth/token HTTP/1.1"), [400]],
    ["NUL in the target", () => start("GET /api/\0models HTTP/1.1"), [400]],
  ] as [string, () => string, number[]][])("%s: refused, no leak, and the server lives on", async (_what, bytes, statuses) => {
    const answer = await raw(system.url, Buffer.from(bytes(), "latin1"));
    expect(statuses).toContain(answer.status);
    expect(answer.text).not.toMatch(LEAKS);
    await alive();
  });

  test("clients that leave in the middle of a body, or send nothing, take nothing with them", async () => {
    const { hostname, port } = new URL(system.url);
    const half = `POST /api/auth/signup HTTP/1.1\r\nhost: ${host()}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"email":"left@exam`;
    const chatHalf = `POST /v1/chat/completions HTTP/1.1\r\nhost: ${host()}\r\nx-gw-api-key: ${tenant.key}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"model":`;
    for (const bytes of [half, chatHalf, "", "GET /api/mod"]) {
      const sockets = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const socket = connect(Number(port), hostname);
          socket.on("error", () => {});
          await once(socket, "connect");
          if (bytes !== "") socket.write(bytes);
          return socket;
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, 50));
      for (const socket of sockets) socket.resetAndDestroy();
      await alive();
    }
    expect((await call(system.url, "GET", "/api/quota", { token: tenant.token })).body.quota.reserved).toBe(0);
  });
});

test("no process wrote an error of its own through all of this, and no secret", () => {
  const lines = system.logs().split("\n");
  expect(lines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
  expect(system.logs()).not.toContain(tenant.key);
  expect(system.logs()).not.toContain(tenant.password);
});
