import { documentFindings } from "./doc-rules.ts";
import { countLanguage, oddPer100, refusedNames } from "./language-rules.ts";
import { OUTBOUND, outboundFindings } from "./outbound-rules.ts";
import { OWN_TIME, portFindings } from "./port-rules.ts";
import { namesInCode, pageFindings, settingFindings } from "./settings-rules.ts";
import { LONG_FILES, listFindings } from "./size-rules.ts";
import { sourceFindings } from "./source-rules.ts";

const messages = (path: string, text: string) => sourceFindings({ path, text }).map(({ line, message }) => `${line} ${message}`);
/** Bad words are put together here, so that tidy does not find them in its own test. */
const words = (...parts: string[]) => parts.join("");

test.each([
  ["a type", "common/a.ts", words("let x", ": any = 1;"), /type any/],
  ["a cast", "common/a.ts", words("f(x as ", "any)"), /cast to any/],
  ["a silenced type", "common/a.ts", words("// @ts", "-ignore"), /silenced/],
  ["a bare reminder", "common/a.ts", words("// TO", "DO later"), /issue number/],
  ["a bare reminder in shell", "scripts/a.sh", words("# FIX", "ME later"), /issue number/],
  ["printing", "common/a.ts", words("console", ".log(1)"), /logger/],
  ["a focused test", "common/a.test.ts", words("test", ".only(1)"), /focused/],
  ["a skipped test", "common/a.test.ts", words("x", "it(1)"), /skipped/],
  ["a default export", "common/a.ts", words("export ", "default 1"), /name it/],
  ["money as a float", "control-plane/domain/a.ts", words("Num", "ber(entry.costNanoUsd)"), /bigint/],
  ["a machine path", "deploy/a.yaml", words("path: /ro", "ot/x"), /one machine/],
  ["a registry address", "package-lock.json", words('"resolved": "ht', 'tps://registry"'), /registry/],
  ["a failure that is dropped", "common/a.ts", words("work().catch(() ", "=> {});"), /ignored failure/],
  ["a failure that becomes a constant", "cli/a.ts", words("await work().catch(() ", "=> []);"), /ignored failure/],
  ["an empty name", "common/utils.ts", "", /name/],
])("%s is found", (_name, path, text, message) => {
  expect(messages(path, text)).toEqual([expect.stringMatching(message)]);
});

test.each([
  ["a word in a comment", "common/a.ts", "// note: any string"],
  ["a word in a string", "common/a.ts", 'throw new Error("wrong: any value, console.log");'],
  ["a reminder with its issue", "common/a.ts", "// TODO(#12): later"],
  ["a failure that is answered", "common/a.ts", "work().catch(() => response.destroy()); work().catch((error: unknown) => log(error));"],
  ["printing in a script", "scripts/a.ts", words("console", ".log(1)")],
  ["a cursor that skips", "common/a.test.ts", "cursor.skip(3)"],
  ["an address with a similar part", "common/a.ts", 'get("http://x/home/y")'],
])("%s is left alone", (_name, path, text) => {
  expect(messages(path, text)).toEqual([]);
});

test("a file past 300 lines gives its reason, and no file passes its limit", () => {
  const lines = (count: number) => "x\n".repeat(count);
  const [longFile = ""] = Object.keys(LONG_FILES);
  expect(messages("common/a.ts", lines(300))).toEqual([]);
  expect(messages("common/a.ts", lines(301))).toEqual([expect.stringMatching(/give the reason/)]);
  expect(messages(longFile, lines(500))).toEqual([]);
  expect(messages(longFile, lines(501))).toEqual([expect.stringMatching(/limit is 500/)]);
  expect(messages(longFile, lines(300))).toEqual([expect.stringMatching(/need not/)]);
  expect(messages("common/a.test.ts", lines(800))).toEqual([]);
  expect(messages("common/a.test.ts", lines(801))).toHaveLength(1);
  expect(messages("control-plane/writes/settle.ts", lines(301))).toEqual([expect.stringMatching(/limit is 300/)]);
});

test("the lists of main loops and of long files name only files that exist", () => {
  expect(listFindings(() => true)).toEqual([]);
  const found = listFindings((path) => path !== "control-plane/writes/settle.ts");
  expect(found.map(({ message }) => message)).toEqual(["a rule lists control-plane/writes/settle.ts, which does not exist"]);
  expect(listFindings(() => false, ["common/a.ts"]).at(-1)?.message).toContain("common/a.ts");
});

test("time and chance come through their ports, but for the files that say why", () => {
  const lines = (path: string, text: string) => portFindings({ path, text }).map(({ line }) => line);
  const raw = [
    "const a = Date.now();",
    "setTimeout(work, 5);",
    "new Date()",
    `import { randomUUID } from "node:crypto";`,
    "`$" + "{performance.now()}`",
  ];
  expect(lines("control-plane/a.ts", raw.join("\n"))).toEqual([1, 2, 3, 4, 5]);
  expect(
    lines("control-plane/a.ts", "// Date.now()\nclock.now(); new Date(now); random.bytes(4); setImmediate(go); clearTimeout(x);"),
  ).toEqual([]);
  for (const path of ["control-plane/a.test.ts", "cli/a.ts", "common/clock.ts"]) expect(lines(path, raw.join("\n"))).toEqual([]);
  expect(portFindings({ path: "common/clock.ts", text: "" })).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/need not/) }),
  ]);
  expect(Object.values(OWN_TIME).every((reason) => reason.length > 10)).toBe(true);
});

test("connections are opened through the guard, but for the files that say why", () => {
  const lines = (path: string, text: string) => outboundFindings({ path, text }).map(({ line }) => line);
  const opening = [
    `import { connect } from "node:net";`,
    `import {\n  type IncomingMessage,\n  request,\n} from "node:https";`,
    `import { Agent } from "undici";`,
    `import Stripe from "stripe";`,
    "const answer = await fetch(url);",
    "new WebSocket(url);",
    `const { Pool } = await import("undici");`,
    `import * as net from "node:net";`,
  ];
  for (const text of opening) expect([text, lines("gateway-edge/a.ts", `const a = 1;\n${text}`)]).toEqual([text, [2]]);
  const harmless = [
    `import { createServer, type Agent, type Socket } from "node:http";`,
    `import type { Agent } from "undici";`,
    `import { isIP } from "node:net";`,
    "// fetch(url)",
    "store.fetch(id); prefetch(id); const fetch = deps.fetch;",
  ];
  for (const text of harmless) expect([text, lines("gateway-edge/a.ts", text)]).toEqual([text, []]);
  for (const path of ["gateway-edge/a.test.ts", "cli/a.ts", "common/outbound.ts"]) expect(lines(path, opening.join("\n"))).toEqual([]);
  expect(outboundFindings({ path: "common/outbound.ts", text: "" })).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/need not/) }),
  ]);
  expect(Object.values(OUTBOUND).every((reason) => reason.length > 10)).toBe(true);
});

test("a document that names a missing file is found, outside code blocks and only for paths of this repository", () => {
  const text = [
    "See [here](docs/gone.md#part), [there](https://example.com/x.md) and `common/money.ts`.",
    "`common/gone.ts` and `gateway-edge/gone/` but not `common/*.ts`, `POST /v1/x` or `other/gone.ts`.",
    "```",
    "[x](docs/gone2.md)",
    "```",
  ].join("\n");
  const found = documentFindings({ path: "README.md", text }, (path) => path === "common/money.ts");
  expect(found.map(({ line, message }) => [line, message.split(" ")[1]])).toEqual([
    [1, "docs/gone.md,"],
    [2, "common/gone.ts,"],
    [2, "gateway-edge/gone/,"],
  ]);
});

test("a document that names a setting no process reads is found, in text and in examples", () => {
  const known = { settings: new Set(["TRAINER_PORT"]), inCode: new Set(["TEAM_BLOCKED", "GW_TOKEN"]) };
  const found = (text: string) => settingFindings({ path: "docs/a.md", text }, known).map(({ message }) => message.split(" ")[1]);
  expect(found("`TRAINER_PORT=5001`, TEAM_BLOCKED, `GW_TOKEN=x`, OPENAI_API_KEY=… and `examples/A_B.md`")).toEqual([]);
  expect(found("`GONE_PORT` and\nGONE_URL=x make run")).toEqual(["GONE_PORT,", "GONE_URL,"]);
  expect(found("TEAM_BLOCKED=1")).toEqual(["TEAM_BLOCKED,"]);
  expect(settingFindings({ path: "CHANGELOG.md", text: "GONE_PORT" }, known)).toEqual([]);
});

test("a name counts as one of the code where it stands outside comments of product source", () => {
  expect(namesInCode({ path: "common/a.ts", text: 'const LINES_MAX = "A_CODE"; // GONE_PORT' })).toEqual(["LINES_MAX", "A_CODE"]);
  expect(namesInCode({ path: "common/a.test.ts", text: '"A_CODE"' })).toEqual([]);
});

test("a page of settings that is not what the processes declare is found", () => {
  expect(pageFindings("a", "a")).toEqual([]);
  expect(pageFindings(undefined, "a")).toHaveLength(1);
  expect(pageFindings("a", "b")).toEqual([expect.objectContaining({ message: expect.stringMatching(/print-settings/) })]);
});

test("words outside the glossary are counted by comment line of product code, not in code, strings or tests", () => {
  const odd = words("no", "body");
  const text = [`/** For ${odd}. */`, `const ${odd} = "${odd}"; // plain`, "// And a second plain line.", "const x = 1;"].join("\n");
  expect(countLanguage({ path: "common/a.ts", text })).toEqual({ commentLines: 3, oddLines: 1 });
  expect(countLanguage({ path: "common/a.test.ts", text })).toEqual({ commentLines: 0, oddLines: 0 });
  expect(
    oddPer100([
      { commentLines: 3, oddLines: 1 },
      { commentLines: 1, oddLines: 0 },
    ]),
  ).toBe(25);
  expect(oddPer100([])).toBe(0);
});

test("names of the private vocabulary are refused in code, by whole parts, and left alone in strings, comments and tests", () => {
  const text = 'const jobFace = interfaceOf(surface); // a door\nlet carrier = "face"; class OpenAiDoor {}';
  expect(refusedNames({ path: "common/a.ts", text }).map(({ line, message }) => `${line} ${message.split(":")[0]}`)).toEqual([
    "1 the name jobFace",
    "2 the name carrier",
    "2 the name OpenAiDoor",
  ]);
  expect(refusedNames({ path: "common/a.test.ts", text })).toEqual([]);
});
