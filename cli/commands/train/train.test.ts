import { hash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gwWith } from "../../io-fixture.ts";
import { type CommandNode, everyNode } from "../command-tree.ts";

// A coordinator by script: what a terminal shows while rounds happen depends on an order of events that a real one gives only by chance.

let server: Server;
let url: string;
const asked: { method: string; path: string; body: string }[] = [];

interface Script {
  federation: object;
  rounds: object[];
  joinLink?: string;
  warnings?: string[];
}
const participant = (state: string) => ({ participantId: "p", state, reward: 0 });
const committed = (round: number, accuracy: number) => ({
  round,
  state: "committed",
  accuracy,
  budget: 0,
  recordHash: "ab".repeat(32),
  participants: [participant("accepted"), participant("accepted"), participant("straggler")],
  openedAt: "2026-11-15T09:00:00.000Z",
  committedAt: "2026-11-15T09:00:01.500Z",
});
const replayedRound = (round: number, original: number, replayed: number) => ({
  round,
  parameters: "ab".repeat(32),
  original: { accuracy: original, loss: null },
  replayed: { accuracy: replayed, loss: null },
});
const measured = (round: number, accuracy: number, more: object = {}) => ({
  ...{ round, accuracy, loss: null, participants: [] },
  metrics: { train: { loss: 2 / round }, evaluate: more },
});
const METRICS: Readonly<Record<string, object[]>> = {
  fed_1: [measured(1, 0.5), measured(2, 0.875), measured(3, 1, { f1: 0.75 })],
  fed_2: [measured(1, 0.75), measured(2, 0.75)],
};
const open = { round: 2, state: "training", participants: [participant("accepted"), participant("selected"), participant("selected")] };
const federation = (state: string, head: number) => ({
  id: "fed_1",
  name: "digits",
  state,
  rounds: 3,
  round: head + 1,
  head: { round: head },
});
let script: Script;

beforeAll(async () => {
  server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(() => {
  asked.length = 0;
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  const path = request.url ?? "";
  asked.push({ method: request.method ?? "", path, body });
  if (path.includes("/events")) return sendEvents(response, path);
  const id = path.split("/")[3] ?? "";
  if (path.endsWith("/metrics")) return void response.end(JSON.stringify({ federationId: id, rounds: METRICS[id] ?? [] }));
  const found = path.includes("/rounds")
    ? { data: script.rounds, meta: { page: 1, pageSize: 100, total: script.rounds.length, totalPages: 1 } }
    : path.includes("/verify")
      ? { ok: false, rounds: 2, remade: 1, firstBad: { round: 2, reason: "its hash is not that of its content" } }
      : path.includes("/replays")
        ? { strategy: { name: "median" }, rounds: [replayedRound(1, 0.125, 0.5), replayedRound(2, 0.1, 1)] }
        : { federation: script.federation, joinTokens: [], joinLink: script.joinLink ?? null, warnings: script.warnings ?? [] };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(found));
}

/** The server closes the first connection after one event; the second connection continues after it. */
function sendEvents(response: ServerResponse, path: string): void {
  response.setHeader("content-type", "text/event-stream");
  if (path.includes("after=7")) {
    script = { federation: federation("completed", 2), rounds: [committed(1, 0.5), committed(2, 0.875)] };
    response.end('id: 8\nevent: round.committed\ndata: {"round":2}\n\nevent: end\ndata: {"state":"completed"}\n\n');
  } else {
    response.write(': following\n\nid: 7\nevent: round.training\ndata: {"round":2}\n\n');
    setTimeout(() => response.destroy(), 50);
  }
}

/** Before a redraw, the cursor moves up and the lines below it are erased. */
const ERASED = new RegExp(`${String.fromCharCode(27)}\\[\\d+[AJ]`, "g");

const tried = new Set<string>();
const gw = (line: string, terminal = false) => {
  // A group without a command runs its list.
  tried.add(line).add(line.replace(/^train (\w+).*/, "train $1 list"));
  return gwWith(line.split(" "), { terminal, columns: 60, env: { GW_API_URL: url, GW_TOKEN: "t", XDG_CONFIG_HOME: "/nonexistent" } });
};

test("rounds --follow: committed rounds stay as lines, the open one is a bar, accuracy a curve; after a disconnect it resumes from the last event", async () => {
  script = { federation: federation("running", 1), rounds: [committed(1, 0.5), open] };
  const { exit, out: drawn } = await gw("train rounds fed_1 --follow", true);
  const out = drawn.replaceAll(ERASED, "");
  expect(exit).toBe(0);
  expect(out.match(/^round {3}\d {2}committed .*$/gm)).toEqual([
    "round   1  committed  2 of 3 updates (1 dropped)  accuracy 50.0 %  1.5 s",
    "round   2  committed  2 of 3 updates (1 dropped)  accuracy 87.5 %  1.5 s",
  ]);
  expect(out).toContain("round   2  ███████░░░░░░░░░░░░░  1/3 training\n");
  const last = out.slice(out.lastIndexOf("digits")).split("\n");
  expect(last).toEqual(["digits  completed", "all        █████████████░░░░░░░  2/3 rounds", "accuracy   ▁█  87.5 %", ""]);
  expect(asked.filter(({ path }) => path.includes("/events")).map(({ path }) => path.split("?")[1])).toEqual([undefined, "after=7"]);
});

test("rounds --follow in a pipe: every event once, one line of JSON each", async () => {
  script = { federation: federation("running", 1), rounds: [] };
  const { exit, out } = await gw("train rounds fed_1 --follow");
  expect([
    exit,
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ]).toEqual([
    0,
    [
      { event: "round.training", round: 2 },
      { event: "round.committed", round: 2 },
      { event: "end", state: "completed" },
    ],
  ]);
});

test("replay shows both curves", async () => {
  const { exit, out } = await gw("train replay fed_1 --strategy median --table", true);
  expect(exit).toBe(0);
  expect(out.split("\n")).toEqual([
    "           original    median",
    "round   1    12.5 %    50.0 %",
    "round   2    10.0 %   100.0 %",
    "original  █▁  10.0 %",
    "median    ▁█  100.0 %",
    "",
  ]);
});

test("compare: rounds side by side, the aggregates of the last round, and curves with one scale", async () => {
  script = { federation: federation("completed", 2), rounds: [] };
  const { exit, out } = await gw("train compare fed_1 fed_2", true);
  expect(exit).toBe(0);
  expect(out.split("\n")).toEqual([
    "   ID     NAME    STATE      ROUNDS  ACCURACY  CURVE",
    "A  fed_1  digits  completed       3   100.0 %  ▁▆█",
    "B  fed_2  digits  completed       2    75.0 %  ▅▅",
    "",
    "ROUND        A       B",
    "    1   50.0 %  75.0 %",
    "    2   87.5 %  75.0 %",
    "    3  100.0 %       -",
    "",
    "LAST ROUND         A       B",
    "accuracy     100.0 %  75.0 %",
    "evaluate.f1   0.7500       -",
    "train.loss    0.6667  1.0000",
    "",
  ]);
});

test("compare in a pipe: the aggregates of every round as JSON, with the metric that was asked for", async () => {
  script = { federation: federation("completed", 2), rounds: [] };
  const { out } = await gw("train compare fed_1 fed_2 --metric train.loss");
  expect(JSON.parse(out)).toMatchObject({
    metric: "train.loss",
    data: [
      { id: "fed_1", name: "digits", rounds: [{}, {}, { round: 3, metrics: { accuracy: 1, "evaluate.f1": 0.75 } }] },
      { id: "fed_2", rounds: [{ round: 1, metrics: { accuracy: 0.75, "train.loss": 2 } }, {}] },
    ],
  });
});

test.each([
  ["train compare fed_1", "2 to 12 federation IDs"],
  ["train compare fed_1 fed_1", "can be given once"],
  ["train compare fed_1 fed_2 --metric f2", "Use one of: accuracy, evaluate.f1, train.loss."],
])("%s is refused: %s", async (line, message) => {
  script = { federation: federation("completed", 2), rounds: [] };
  const { exit, err } = await gw(line);
  expect([exit, err]).toEqual([2, expect.stringContaining(message)]);
});

test("a failed federation ends the command with its reason, and an invalid history exits with 1", async () => {
  script = { federation: { ...federation("failed", 0), failure: { code: "NO_QUORUM", message: "has 1 of 2" } }, rounds: [] };
  const failed = await gw("train rounds fed_1 --follow --table");
  expect([failed.exit, JSON.parse(failed.err)]).toMatchObject([1, { code: "NO_QUORUM", error: "has 1 of 2" }]);
  const wrong = await gw("train verify fed_1");
  expect([wrong.exit, JSON.parse(wrong.err).error]).toEqual([1, "The history is not valid: its hash is not that of its content"]);
});

test.each([
  ["train list --state running", "GET", "/training/federations?state=running", ""],
  ["train get fed_1", "GET", "/training/federations/fed_1", ""],
  ["train rounds fed_1 --page 2", "GET", "/training/federations/fed_1/rounds?page=2", ""],
  ["train pause fed_1", "POST", "/training/federations/fed_1/pause", "{}"],
  ["train resume fed_1", "POST", "/training/federations/fed_1/resume", "{}"],
  ["train extend fed_1 --rounds 5", "POST", "/training/federations/fed_1/extend", '{"rounds":5}'],
  ["train stop fed_1 --yes", "POST", "/training/federations/fed_1/stop", "{}"],
  [
    "train publish fed_1 --model digits --input-price 1",
    "POST",
    "/training/federations/fed_1/publish",
    '{"model":"digits","pricing":{"input":1000000000}}',
  ],
  [
    "train publish fed_1 --model mine --served-by p1,p2",
    "POST",
    "/training/federations/fed_1/publish",
    '{"model":"mine","servedBy":["p1","p2"]}',
  ],
  [
    'train replay fed_1 --strategy trimmed_mean --settings {"beta":0.3} --rounds 2',
    "POST",
    "/training/federations/fed_1/replays",
    '{"strategy":{"beta":0.3,"name":"trimmed_mean"},"rounds":2}',
  ],
  ["train versions fed_1 --model digits", "GET", "/training/federations/fed_1/versions?model=digits", ""],
  [
    "train rollback fed_1 --model digits --to-version 1 --yes",
    "POST",
    "/training/federations/fed_1/rollback",
    '{"model":"digits","version":1}',
  ],
  ["train models", "GET", "/training/models", ""],
  ["train models versions a/b", "GET", "/training/models/a%2Fb/versions", ""],
  ["train models rollback digits --yes", "POST", "/training/models/digits/rollback", "{}"],
  ["train models split digits --to-version 2 --percent 10", "POST", "/training/models/digits/split", '{"version":2,"percent":10}'],
  [
    "train models publish --model digits --blob ab --task softmax --labels a,b",
    "POST",
    "/training/models",
    '{"model":"digits","blob":"ab","task":{"task":"softmax","labels":["a","b"]}}',
  ],
  ["train datasets", "GET", "/training/datasets", ""],
  ["train datasets budget --name digits --epsilon 8", "PUT", "/training/datasets", '{"name":"digits","epsilonBudget":8}'],
  ["train strategies", "GET", "/training/strategies", ""],
  ["train strategies get mine", "GET", "/training/strategies/mine", ""],
  ["train strategies remove mine --yes", "DELETE", "/training/strategies/mine", ""],
  ["train nodes", "GET", "/training/nodes", ""],
  ["train nodes get node_1", "GET", "/training/nodes/node_1", ""],
  ["train nodes health node_1", "GET", "/training/nodes/node_1/health", ""],
  ["train nodes add --url http://127.0.0.1:9", "POST", "/training/nodes", '{"url":"http://127.0.0.1:9"}'],
  ["train nodes remove node_1 --yes", "DELETE", "/training/nodes/node_1", ""],
  ["train blobs delete ab --yes", "DELETE", "/training/blobs/ab", ""],
  [
    "train create --participants http://a:1,http://b:1,http://c:1 --secure",
    "POST",
    "/training/federations",
    '{"secureAggregation":true,"participants":[{"url":"http://a:1"},{"url":"http://b:1"},{"url":"http://c:1"}]}',
  ],
  [
    'train create --participants http://a:1,http://b:1 --join 1 --task softmax --dataset digits --config {"epochs":2} --strategy krum --rounds 5 --deadline 1.5 --budget 0.01',
    "POST",
    "/training/federations",
    '{"task":{"name":"softmax","config":{"epochs":2},"dataset":"digits"},"strategy":{"name":"krum"},"rounds":5,"budgetNanoUsd":10000000,"deadlineMs":1500,"participants":[{"url":"http://a:1"},{"url":"http://b:1"},{"join":true}]}',
  ],
  [
    "train create --open --min-participants 3 --max-participants 20 --task softmax",
    "POST",
    "/training/federations",
    '{"minParticipants":3,"maxParticipants":20,"task":{"name":"softmax"},"enrollment":"open"}',
  ],
  ...[
    ["blob:ab", '{"blob":"ab"}'],
    ["model:a/b@2", '{"model":"a/b","version":2}'],
    ["federation:fed_1", '{"federation":"fed_1"}'],
    ["federation:fed_1@3", '{"federation":"fed_1","round":3}'],
    ["participant:0", '{"participant":0}'],
  ].map(([given, sent]): [string, string, string, string] => [
    `train create --join 1 --initial ${given}`,
    "POST",
    "/training/federations",
    `{"initial":${sent},"participants":[{"join":true}]}`,
  ]),
])("%s is %s %s", async (line, method, path, body) => {
  script = { federation: federation("running", 1), rounds: [] };
  expect((await gw(line)).err).toBe("");
  expect(asked).toEqual([{ method, path, body }]);
});

test("an open federation is created with the command by which others join it", async () => {
  script = { federation: federation("created", 0), rounds: [], joinLink: "join_abc" };
  const { out } = await gw("train create --open --table");
  expect(out).toContain(`TRAINER_JOIN_URL=${url} TRAINER_JOIN_TOKEN=join_abc `);
});

test("what the owner of a new federation should know is a warning on stderr", async () => {
  script = { federation: federation("created", 0), rounds: [], warnings: ["maxSamples is not set"] };
  expect((await gw("train create --join 2 --table")).err).toContain("warning: maxSamples is not set");
});

test("parameters that do not match their ETag are not left in the output file", async () => {
  script = { federation: federation("completed", 3), rounds: [] };
  const folder = mkdtempSync(join(tmpdir(), "gw-parameters-"));
  try {
    const { exit, err } = await gw(`train download fed_1 --round 2 --format npz --out ${join(folder, "model.npz")}`);
    expect([exit, err]).toEqual([1, expect.stringContaining("does not match its checksum")]);
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /training/federations/fed_1/rounds/2/parameters?format=npz",
    ]);
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("an own strategy is sent with its source, and its language is that of the file", async () => {
  script = { federation: federation("running", 1), rounds: [] };
  const folder = mkdtempSync(join(tmpdir(), "gw-strategies-"));
  try {
    const [file, other] = [join(folder, "mine.py"), join(folder, "mine.rb")];
    writeFileSync(file, "def aggregate(updates, context): ...");
    await gw(`train strategies add --name mine --file ${file}`);
    const body = '{"name":"mine","language":"python","source":"def aggregate(updates, context): ..."}';
    expect(asked).toEqual([{ method: "POST", path: "/training/strategies", body }]);
    expect((await gw(`train strategies add --name mine --file ${other}`)).err).toContain("--file must end in .py or .ts");
    expect((await gw(`train strategies add --name mine --file ${folder}/none.ts`)).err).toContain("cannot be read");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("metrics are written to a file", async () => {
  script = { federation: federation("completed", 3), rounds: [] };
  const folder = mkdtempSync(join(tmpdir(), "gw-metrics-"));
  try {
    const { exit } = await gw(`train metrics fed_1 --format csv --out ${join(folder, "curves.csv")}`);
    expect([exit, asked.map(({ method, path }) => `${method} ${path}`)]).toEqual([
      0,
      ["GET /training/federations/fed_1/metrics?format=csv"],
    ]);
    expect(JSON.parse(readFileSync(join(folder, "curves.csv"), "utf8"))).toMatchObject({ federation: { id: "fed_1" } });
    expect((await gw("train metrics fed_1")).exit).toBe(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a file is uploaded under the SHA-256 of its bytes; a download that does not match is not left in the output file", async () => {
  script = { federation: federation("completed", 3), rounds: [] };
  const folder = mkdtempSync(join(tmpdir(), "gw-blobs-"));
  try {
    writeFileSync(join(folder, "in"), "parameters");
    const path = `/training/blobs/${hash("sha256", "parameters", "hex")}`;
    expect((await gw(`train blobs upload ${join(folder, "in")}`)).exit).toBe(0);
    const { exit, err } = await gw(`train blobs download ${path.slice("/training/blobs/".length)} --out ${join(folder, "out")}`);
    expect([exit, err]).toEqual([1, expect.stringContaining("does not match its checksum")]);
    expect(asked).toEqual([
      { method: "PUT", path, body: "parameters" },
      { method: "GET", path, body: "" },
    ]);
    expect(readdirSync(folder)).toEqual(["in"]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("every training command is tested here", async () => {
  const names = (await gw("help train --json")).out;
  const leaves = everyNode(JSON.parse(names) as CommandNode).filter(({ commands }) => commands.length === 0);
  expect(leaves.map(({ path }) => path).filter((path) => ![...tried].some((line) => line.startsWith(path)))).toEqual([]);
});

test.each(["nowhere", "blob:", "participant:first", "model:m@new"])("an initial model %s is refused with the forms", async (given) => {
  const { exit, err } = await gw(`train create --join 1 --initial ${given}`);
  expect([exit, err, asked]).toEqual([2, expect.stringContaining("blob:SHA256, model:NAME[@VERSION]"), []]);
});

test("a federation without participants is rejected before it is sent", async () => {
  expect([(await gw("train create --rounds 3")).exit, asked]).toEqual([2, []]);
});
