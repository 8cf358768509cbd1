import { isEligible, readProperties, requestedSelection, selectionProblems, wantedOf } from "./selection-settings.ts";

test.each([
  [{ participants: 100, fraction: 0.1 }, 10],
  [{ participants: 100, fraction: 0.1, selection: { min: 20 } }, 20],
  [{ participants: 15, fraction: 0.1, selection: { min: 20 } }, 15],
  [{ participants: 100, fraction: 1, selection: { max: 30 } }, 30],
  [{ participants: 100, fraction: 0.25, selection: { min: 5, max: 30 } }, 25],
  [{ participants: 0, fraction: 1 }, 1],
  // The products of floats are a little above the whole numbers.
  [{ participants: 100, fraction: 0.07 }, 7],
  [{ participants: 50, fraction: 0.14 }, 7],
  [{ participants: 10_000, fraction: 0.0009 }, 9],
  [{ participants: 3, fraction: 1 / 3 }, 1],
  // These are above them.
  [{ participants: 101, fraction: 0.07 }, 8],
  [{ participants: 10_000, fraction: 0.00001 }, 1],
])("%j: a round waits for %d results", (given, wanted) => {
  expect(wantedOf(given)).toBe(wanted);
});

test("a participant is eligible if it declares every property that is asked for, by value and by nothing it inherits", () => {
  const declared = readProperties('{"region": "eu", "gpu": true, "ram": 16}');
  expect(isEligible(declared, {})).toBe(true);
  expect(isEligible(declared, { region: "eu", gpu: true })).toBe(true);
  expect(isEligible(declared, { region: ["us", "eu"], ram: 16 })).toBe(true);
  expect(isEligible(declared, { region: "us" })).toBe(false);
  expect(isEligible(declared, { ram: "16" })).toBe(false);
  expect(isEligible(declared, { constructor: "x" })).toBe(false);
});

test.each(["", "[1]", "5", "null", "{", `{"a":"${"x".repeat(5000)}"}`])(
  "properties that are no JSON object of a bearable size are none: %s",
  (text) => {
    expect(readProperties(text)).toEqual({});
  },
);

test("the copy of a function is not the caller's to give", () => {
  const own = { language: "python", source: "def select(participants, context): ..." };
  expect(requestedSelection.safeParse({ function: "mine", own }).success).toBe(false);
});

test.each([
  [{ selection: { min: 5, max: 4 }, strategy: { name: "fedavg" } }, ["selection.min"]],
  [{ selection: { max: 2 }, strategy: { name: "fedavg" }, secureAggregation: {} }, ["selection.max"]],
  [{ fraction: 0.2, strategy: { name: "fedavg" }, secureAggregation: {} }, ["fraction"]],
  [{ fraction: 0.2, overSelect: 1, strategy: { name: "fedavg" }, secureAggregation: {} }, ["fraction"]],
  [{ fraction: 0.21, strategy: { name: "fedavg" }, secureAggregation: {} }, []],
  [{ fraction: 0.2, selection: { min: 3 }, strategy: { name: "fedavg" }, secureAggregation: {} }, []],
  [{ fraction: 0.2, selection: { max: 2 }, strategy: { name: "fedavg" }, secureAggregation: {} }, ["selection.max"]],
  [{ fraction: 0.2, strategy: { name: "fedavg" } }, []],
  [{ selection: { min: 2 }, strategy: { name: "fedbuff" } }, ["selection"]],
  [{ selection: { min: 2, max: 2, properties: { region: "eu" } }, strategy: { name: "krum" } }, []],
  [{ strategy: { name: "fedbuff" } }, []],
  [{ selection: { min: 10 }, strategy: { name: "fedavg" } }, []],
  [{ selection: { min: 11 }, strategy: { name: "fedavg" } }, ["selection.min"]],
  [{ selection: { min: 10 }, strategy: { name: "fltrust", root_participant: 0 } }, ["selection.min"]],
  [{ selection: { min: 9 }, strategy: { name: "fltrust", root_participant: 0 } }, []],
  [{ selection: { min: 11 }, strategy: { name: "fedavg" }, enrollment: "open" as const }, []],
  [{ selection: { min: 11 }, strategy: { name: "fedavg" }, enrollment: "open" as const, maxParticipants: 10 }, ["selection.min"]],
])("%j with ten participants has the problems %j", (given, paths) => {
  expect(selectionProblems({ fraction: 1, participants: { length: 10 }, ...given }).map(({ path }) => path.join("."))).toEqual(paths);
});
