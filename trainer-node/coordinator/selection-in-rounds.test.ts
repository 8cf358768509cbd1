import type { Properties } from "../../common/training/selection-settings.ts";
import { createOwnSelection, type OwnSelection } from "./own-strategies/own-selection.ts";
import { model, openRunFixture, type RunFixture } from "./run-fixture.ts";

let fixture: RunFixture;
beforeAll(() => {
  fixture = openRunFixture();
});
afterAll(() => fixture.close());

const train = () => ({ model: model(1, 2), samples: 5 });
const REGIONS = ["eu", "us", "eu", "asia", "eu", "us"];
const properties = (id: string): Properties => ({ region: REGIONS[Number(id.slice(1)) - 1], number: Number(id.slice(1)) });
const limits = { python: "python3", deadlineMs: 20_000, memoryMb: 1024 };

async function selected(settings: object, options: object = {}) {
  const given = { participants: REGIONS.length, properties, ...options };
  const { problem, rounds } = await fixture.run({ startDeadlineMs: 300, ...settings }, { train }, given);
  return { problem, ids: rounds.map(({ participants }) => participants.map(({ participantId }) => participantId)) };
}

test("rounds ask the participants with the properties, and no others", async () => {
  const { problem, ids } = await selected({ selection: { properties: { region: ["eu", "asia"] } }, rounds: 2 });
  expect([problem, ids]).toEqual([undefined, Array(2).fill(["p1", "p3", "p4", "p5"])]);
});

test("those without the properties are not waited for", async () => {
  const settings = { selection: { properties: { region: "eu" } } };
  expect(await selected(settings, { away: ["p2", "p4", "p5", "p6"] })).toEqual({ problem: undefined, ids: [["p1", "p3"]] });
});

test("a round has at least min and at most max participants, whatever the fraction", async () => {
  const sizes = async (settings: object) => (await selected({ rounds: 3, ...settings })).ids.map(({ length }) => length);
  expect(await sizes({ fraction: 0.1, selection: { min: 3 } })).toEqual([3, 3, 3]);
  expect(await sizes({ selection: { max: 2 } })).toEqual([2, 2, 2]);
  expect(await sizes({ selection: { max: 2, properties: { region: "eu" } } })).toEqual([2, 2, 2]);
});

test("fewer than min with the properties are waited for, and then the federation fails with their number", async () => {
  const { problem, ids } = await selected({ selection: { min: 3, properties: { region: "us" } } });
  expect(ids).toEqual([]);
  expect(problem).toEqual({
    code: "NOT_ENOUGH_PARTICIPANTS",
    message: "Only 2 of 3 participants that selection asks for are there after 300 ms.",
  });
});

test("minResults is not lowered to those with the properties: they are waited for, and then the federation fails", async () => {
  const { problem, ids } = await selected({ minResults: 4, selection: { properties: { region: "eu" } } });
  expect(ids).toEqual([]);
  expect(problem).toEqual({
    code: "NOT_ENOUGH_PARTICIPANTS",
    message: "Only 3 of 4 participants that selection asks for are there after 300 ms.",
  });
});

test("a round asks enough of those with the properties for minResults, whatever their fraction", async () => {
  const { problem, ids } = await selected({ minResults: 3, fraction: 0.5, selection: { properties: { region: ["eu", "asia"] } } });
  expect([problem, ids.map(({ length }) => length)]).toEqual([undefined, [3]]);
});

test("minResults is not lowered if there is nobody more to ask for a surplus", async () => {
  const broken = (id: string) => ({ model: id === "p5" ? model(Number.NaN, 1) : model(1, 2), samples: 5 });
  const settings = { minResults: 3, overSelect: 1, selection: { properties: { region: "eu" } } };
  const { problem } = await fixture.run(settings, { train: broken }, { participants: REGIONS.length, properties });
  expect(problem).toMatchObject({ code: "NOT_ENOUGH_RESULTS", message: expect.stringContaining("Round 1 has 2 of 3 results.") });
});

test("a function that returns fewer than minResults fails the federation", async () => {
  const selectByFunction = async () => ["p1", "p2"];
  const { problem } = await selected({ ...byFunction(SOURCE), minResults: 3 }, { selectByFunction });
  const reason = "it returned 2 participants, and a round needs 3 (selection.min, minResults)";
  expect(problem).toEqual({ code: "VALIDATION_ERROR", message: `The selection function mine failed: ${reason}.` });
});

test("participants without an update in a committed round are told to stop their training for it", async () => {
  const broken = (id: string) => ({ model: id === "p4" ? model(Number.NaN, 1) : model(1, 2), samples: 5 });
  const { problem, closed } = await fixture.run({ rounds: 2, minResults: 3 }, { train: broken }, { participants: 4 });
  expect(problem).toBeUndefined();
  expect(closed).toEqual([expect.stringMatching(/^p4 .+\/1$/), expect.stringMatching(/^p4 .+\/2$/)]);
});

const SOURCE = `export function select(participants: { id: string; properties: { number: number } }[], { round, count }) {
  return participants.filter(({ properties }) => properties.number % 2 === round % 2).map(({ id }) => id).slice(0, count);
}`;
const byFunction = (source: string, more: object = {}) => ({
  selection: { function: "mine", own: { language: "typescript", source }, ...more },
});

test("an own function selects: it gets ids, properties, the round and how many are asked for", async () => {
  const selectByFunction = createOwnSelection({ allowed: true, ...limits });
  const { problem, ids } = await selected({ ...byFunction(SOURCE, { max: 2 }), rounds: 2 }, { selectByFunction });
  expect([problem, ids]).toEqual([
    undefined,
    [
      ["p1", "p3"],
      ["p2", "p4"],
    ],
  ]);
}, 30_000);

test.each([
  ["an id that it made up", "return ['p9']", 'it returned "p9", which is not the id of a participant'],
  ["nothing", "return []", "it must return a list of at least one id"],
  ["what has no JSON", "return () => ['p1']", "it must return a list of ids"],
  ["more than max", "return participants.map(({ id }) => id)", "it returned 6 participants, and selection.max is 2"],
  ["an error", "throw new RangeError('none of them')", "RangeError: none of them"],
])(
  "a function that returns %s fails the federation with its name and the reason",
  async (_what, body, reason) => {
    const selectByFunction = createOwnSelection({ allowed: true, ...limits });
    const source = `export function select(participants) { ${body}; }`;
    const { problem } = await selected(byFunction(source, { max: 2 }), { selectByFunction });
    expect(problem).toEqual({ code: "VALIDATION_ERROR", message: `The selection function mine failed: ${reason}.` });
  },
  30_000,
);

test("a function runs once for a round that waits for credit, and again if the participants change meanwhile", async () => {
  const calls: (readonly string[])[] = [];
  const selectByFunction: OwnSelection = async ({ candidates, round }) => {
    calls.push([String(round), ...candidates.map(({ id }) => id)]);
    return candidates.map(({ id }) => id);
  };
  let looks = 0;
  const settings = { ...byFunction(SOURCE), rounds: 2, startDeadlineMs: 20_000, enrollment: "open" };
  const options = {
    participants: 2,
    selectByFunction,
    lacksCredit: () => ++looks <= 3,
    isPresent: (id: string) => id === "p1" || looks > 1,
  };
  expect(await selected(settings, options)).toEqual({ problem: undefined, ids: Array(2).fill(["p1", "p2"]) });
  expect(calls).toEqual([
    ["1", "p1"],
    ["1", "p1", "p2"],
    ["2", "p1", "p2"],
  ]);
}, 30_000);

const OPEN = { enrollment: "open", fraction: 0.1 };

test("an open federation with a selection waits for no more participants than it selects", async () => {
  for (const asked of [{ minResults: 2, selection: {} }, { selection: { min: 2 } }, { minResults: 2, selection: { min: 1 } }]) {
    expect(await selected({ ...OPEN, ...asked }, { participants: 2 })).toEqual({ problem: undefined, ids: [["p1", "p2"]] });
  }
});

test("participants that join an open federation while selection.min is waited for are selected", async () => {
  let looks = 0;
  const isPresent = (id: string) => id !== "p2" || ++looks > 2;
  const settings = { ...OPEN, selection: { min: 2 }, startDeadlineMs: 20_000 };
  expect(await selected(settings, { participants: 2, isPresent })).toEqual({ problem: undefined, ids: [["p1", "p2"]] });
}, 30_000);

test("where own strategies are off, selection functions are, too", async () => {
  const { problem } = await selected(byFunction(SOURCE), { selectByFunction: createOwnSelection({ allowed: false, ...limits }) });
  expect(problem?.message).toContain("does not allow own strategies (OWN_STRATEGIES)");
});

const python = process.env["TEST_PYTHON"];
const inPython = python === undefined ? test.skip : test;
inPython(
  `a function in Python gets the same${python === undefined ? " (TEST_PYTHON names no Python; `make test` makes one)" : ""}`,
  async () => {
    const source =
      "def select(participants, context):\n    return [one.id for one in participants if one.properties['region'] == 'us'][: context.count]";
    const selectByFunction = createOwnSelection({ allowed: true, ...limits, python: python ?? "" });
    const settings = { selection: { function: "mine", own: { language: "python", source } } };
    expect(await selected(settings, { selectByFunction })).toEqual({ problem: undefined, ids: [["p2", "p6"]] });
  },
  30_000,
);
