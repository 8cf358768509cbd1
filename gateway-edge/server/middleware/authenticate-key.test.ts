import type { IncomingMessage } from "node:http";
import type { AppError } from "../../../common/errors.ts";
import { mintSecret, secretSha256 } from "../../../common/key-shape.ts";
import { systemRandom } from "../../../common/random.ts";
import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { type AuthProfile, type KeyDirectory, keyAuthentication, keyTest, readKey } from "./authenticate-key.ts";

const KEY = mintSecret(systemRandom);
const OTHER = mintSecret(systemRandom);
const MASTER = "sk-the-master-key-1";
const MISTYPED = `${KEY.slice(0, -1)}${KEY.endsWith("a") ? "b" : "a"}`;
const JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJl";
const isKey = (text: string) => text === MASTER || keyTest({ isMasterKey: () => false })(text);

type Expected = string | "401" | "400";
type Row = [headers: [string, string][], gateway: Expected, hosted: Expected];

const GW = "x-gw-api-key";
const AUTH = "Authorization";

const rows: Row[] = [
  // One credential header.
  [[], "401", "401"],
  [[[GW, KEY]], KEY, KEY],
  [[["X-GW-API-KEY", KEY]], KEY, KEY],
  [[["x-api-key", KEY]], KEY, "401"],
  [[["x-litellm-api-key", KEY]], KEY, "401"],
  [[["X-LiteLLM-API-Key", `Bearer ${KEY}`]], KEY, "401"],
  [[["api-key", KEY]], KEY, "401"],
  [[["Api-Key", KEY]], KEY, "401"],
  [[[AUTH, `Bearer ${KEY}`]], KEY, "401"],
  [[[AUTH, `bearer ${KEY}`]], KEY, "401"],
  [[[AUTH, `BEARER ${KEY}`]], KEY, "401"],
  [[["authorization", `Bearer ${KEY}`]], KEY, "401"],
  // The master key has no checksum.
  [[[GW, MASTER]], MASTER, MASTER],
  [[[AUTH, `Bearer ${MASTER}`]], MASTER, "401"],
  [[["x-api-key", MASTER]], MASTER, "401"],
  // Ill-formed.
  [[[GW, ""]], "401", "401"],
  [[[GW, "sk-"]], "401", "401"],
  [[[GW, MISTYPED]], "401", "401"],
  [[[GW, `Bearer ${KEY}`]], "401", "401"],
  [[[GW, `${KEY},${KEY}`]], "401", "401"],
  [[[GW, `${KEY} `]], "401", "401"],
  [[["x-api-key", MISTYPED]], "401", "401"],
  [[["api-key", ""]], "401", "401"],
  [[[AUTH, KEY]], "401", "401"],
  [[[AUTH, "Bearer"]], "401", "401"],
  [[[AUTH, "Bearer "]], "401", "401"],
  [[[AUTH, `Bearer  ${KEY}`]], "401", "401"],
  [[[AUTH, `Bearer\t${KEY}`]], "401", "401"],
  [[[AUTH, `Bearer ${KEY},Bearer ${KEY}`]], "401", "401"],
  [[[AUTH, `Bearer ${KEY} x`]], "401", "401"],
  [[[AUTH, `Bearer ${MISTYPED}`]], "401", "401"],
  [[[AUTH, `Bearer ${JWT}`]], "401", "401"],
  [[[AUTH, `Basic ${Buffer.from(`${KEY}:`).toString("base64")}`]], "401", "401"],
  [[[AUTH, `Basic ${KEY}`]], "401", "401"],
  [[[AUTH, `Token ${KEY}`]], "401", "401"],
  [[[AUTH, `AWS4-HMAC-SHA256 Credential=${KEY}`]], "401", "401"],
  // Other headers.
  [[["cookie", `key=${KEY}`]], "401", "401"],
  [[["x-key", KEY]], "401", "401"],
  [[["x_gw_api_key", KEY]], "401", "401"],
  // The same credential header twice, with any value.
  [
    [
      [GW, KEY],
      [GW, KEY],
    ],
    "400",
    "400",
  ],
  [
    [
      [GW, KEY],
      ["X-Gw-Api-Key", OTHER],
    ],
    "400",
    "400",
  ],
  [
    [
      [AUTH, `Bearer ${KEY}`],
      [AUTH, `Bearer ${KEY}`],
    ],
    "400",
    "400",
  ],
  [
    [
      [AUTH, `Bearer ${KEY}`],
      ["authorization", "Basic x"],
    ],
    "400",
    "400",
  ],
  [
    [
      ["x-api-key", KEY],
      ["x-api-key", KEY],
    ],
    "400",
    "400",
  ],
  [
    [
      ["api-key", "a"],
      ["api-key", "b"],
    ],
    "400",
    "400",
  ],
  [
    [
      [GW, KEY],
      ["x-api-key", "a"],
      ["x-api-key", "b"],
    ],
    "400",
    "400",
  ],
  // Two credential headers that agree.
  [
    [
      [GW, KEY],
      [AUTH, `Bearer ${KEY}`],
    ],
    KEY,
    KEY,
  ],
  [
    [
      [GW, KEY],
      ["x-api-key", KEY],
    ],
    KEY,
    KEY,
  ],
  [
    [
      ["x-api-key", KEY],
      ["api-key", KEY],
    ],
    KEY,
    "401",
  ],
  [
    [
      [AUTH, `Bearer ${KEY}`],
      ["api-key", KEY],
    ],
    KEY,
    "401",
  ],
  [
    [
      [GW, KEY],
      [AUTH, `Bearer ${KEY}`],
      ["x-api-key", KEY],
      ["api-key", KEY],
    ],
    KEY,
    KEY,
  ],
  // Two credential headers that do not.
  [
    [
      [GW, KEY],
      [AUTH, `Bearer ${OTHER}`],
    ],
    "401",
    "401",
  ],
  [
    [
      [AUTH, `Bearer ${OTHER}`],
      [GW, KEY],
    ],
    "401",
    "401",
  ],
  [
    [
      [GW, KEY],
      [AUTH, `Bearer ${MASTER}`],
    ],
    "401",
    "401",
  ],
  [
    [
      [GW, KEY],
      ["x-api-key", OTHER],
    ],
    "401",
    "401",
  ],
  [
    [
      [GW, KEY],
      ["x-api-key", "dummy"],
    ],
    "401",
    "401",
  ],
  [
    [
      [AUTH, `Bearer ${KEY}`],
      ["x-api-key", OTHER],
    ],
    "401",
    "401",
  ],
  [
    [
      [AUTH, `Bearer ${KEY}`],
      ["api-key", ""],
    ],
    "401",
    "401",
  ],
  [
    [
      ["x-api-key", KEY],
      ["api-key", OTHER],
    ],
    "401",
    "401",
  ],
  [
    [
      [AUTH, "Bearer dummy"],
      ["x-api-key", KEY],
    ],
    "401",
    "401",
  ],
  // A Bearer that is no key beside a good x-gw-api-key: stock clients cannot leave it out.
  [
    [
      [GW, KEY],
      [AUTH, "Bearer dummy"],
    ],
    KEY,
    KEY,
  ],
  [
    [
      [GW, KEY],
      [AUTH, "Bearer"],
    ],
    KEY,
    KEY,
  ],
  [
    [
      [GW, KEY],
      [AUTH, `Bearer ${MISTYPED}`],
    ],
    KEY,
    KEY,
  ],
  [
    [
      [GW, KEY],
      [AUTH, `Bearer ${JWT}`],
    ],
    KEY,
    KEY,
  ],
  [
    [
      [GW, KEY],
      [AUTH, "Basic eDp5"],
    ],
    "401",
    "401",
  ],
  [
    [
      [GW, KEY],
      [AUTH, "Bearer a,b"],
    ],
    "401",
    "401",
  ],
  [
    [
      [GW, "dummy"],
      [AUTH, `Bearer ${KEY}`],
    ],
    "401",
    "401",
  ],
  [
    [
      [GW, ""],
      [AUTH, `Bearer ${KEY}`],
    ],
    "401",
    "401",
  ],
];

describe.each(["gateway", "hosted"] as const)("profile %s", (profile: AuthProfile) => {
  test.each(rows.map((row, index) => [index, ...row] as const))("row %i", (_index, headers, gateway, hosted) => {
    // Execute
    const reading = readKey(headers.flat(), { profile, isKey });
    // Assert
    const seen = reading.type === "key" ? reading.secret : reading.type === "repeated" ? "400" : "401";
    expect(seen).toBe(profile === "gateway" ? gateway : hosted);
  });
});

test("the master key is only looked at when it could be one", () => {
  const asked: string[] = [];
  const test = keyTest({
    isMasterKey: (sha256) => {
      asked.push(sha256.toString("hex"));
      return true;
    },
  });
  expect([test("sk-short"), test("no-prefix-but-long-enough"), test(JWT)]).toEqual([false, false, false]);
  expect(asked).toHaveLength(0);
  expect(test(MASTER)).toBe(true);
});

describe("on one connection", () => {
  const request = (socket: object, headers: readonly (readonly [string, string])[]) =>
    ({ socket, rawHeaders: headers.flat() }) as unknown as IncomingMessage;
  const outcome = (authenticate: () => Caller | Promise<Caller>): Expected => {
    try {
      return (authenticate() as Caller).keyId;
    } catch (error) {
      return (error as AppError).code === "INVALID_REQUEST" ? "400" : "401";
    }
  };
  const directoryOf = (master: () => string): KeyDirectory => ({
    findCaller: (sha256) => {
      const secret = [KEY, OTHER, master()].find((each) => secretSha256(each).equals(sha256));
      return secret === undefined ? undefined : Caller.fromPartial({ keyId: secret });
    },
    isMasterKey: (sha256) => secretSha256(master()).equals(sha256),
  });

  test.each(["gateway", "hosted"] as const)("what a request holds decides, whatever the one before held: %s", (profile) => {
    const authenticate = keyAuthentication(
      profile,
      directoryOf(() => MASTER),
    );
    const expected = (row: Row) => row[profile === "gateway" ? 1 : 2];
    for (const before of rows) {
      const socket = {};
      for (const row of [before, ...rows, before]) {
        expect([row, outcome(() => authenticate(request(socket, row[0])))]).toEqual([row, expected(row)]);
        expect(outcome(() => authenticate(request(socket, before[0])))).toBe(expected(before));
      }
    }
  });

  test("another master key is accepted, and the one before is not, by the next request", () => {
    let master = MASTER;
    const authenticate = keyAuthentication(
      "gateway",
      directoryOf(() => master),
    );
    const socket = {};
    const ask = (secret: string) => outcome(() => authenticate(request(socket, [[AUTH, `Bearer ${secret}`]])));
    const next = "sk-the-master-key-2";
    expect([ask(next), ask(next), ask(MASTER), ask(MASTER)]).toEqual(["401", "401", MASTER, MASTER]);
    master = next;
    expect([ask(MASTER), ask(next), ask(next)]).toEqual(["401", next, next]);
  });
});
