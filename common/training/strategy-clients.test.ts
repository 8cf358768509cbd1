import { STRATEGIES } from "../strategies/gen/strategies.ts";
import { strategyClientProblems } from "./strategy-clients.ts";

const problemsOf = (participants: number, given: object) =>
  strategyClientProblems({ fraction: 1, strategy: { name: "krum" }, participants: { length: participants }, ...given });

test.each([
  [2, { strategy: { name: "krum", f: 1 } }, "krum requires at least 5 clients for this f; there are 2"],
  [4, { strategy: { name: "krum" } }, "krum requires at least 5 clients for this f; there are 4"],
  [5, { strategy: { name: "krum" } }, undefined],
  [2, { strategy: { name: "krum", f: 0 } }, "krum requires at least 3 clients for this f; there are 2"],
  [6, { strategy: { name: "multi_krum", f: 2 } }, "multi_krum requires at least 7 clients for this f; there are 6"],
  [7, { strategy: { name: "multi_krum", f: 2, m: 8 } }, "multi_krum requires at least 8 clients for this m; there are 7"],
  [7, { strategy: { name: "multi_krum", f: 2, m: 7 } }, undefined],
  [6, { strategy: { name: "bulyan", f: 1 } }, "bulyan requires at least 7 clients for this f; there are 6"],
  [7, { strategy: { name: "bulyan", f: 1 } }, undefined],
  [1, { strategy: { name: "trimmed_mean", beta: 0.49 } }, undefined],
  [1, { strategy: { name: "an_own_one", f: 9 } }, undefined],
])("%d participants and %j: %s", (participants, given, message) => {
  expect(problemsOf(participants, given)).toEqual(
    message === undefined ? [] : [{ path: ["strategy", expect.stringMatching(/^[fm]$/)], message }],
  );
});

test.each([
  [10, { fraction: 0.4 }, ["strategy.f"]],
  [10, { fraction: 0.5 }, []],
  [10, { fraction: 0.4, overSelect: 1 }, ["strategy.f"]],
  [10, { fraction: 0.1, selection: { min: 5 } }, []],
  [10, { selection: { max: 4 } }, ["strategy.f"]],
  // A function may select all of them.
  [10, { selection: { max: 4, function: "mine" } }, []],
  [4, { selection: { function: "mine" } }, ["strategy.f"]],
  [0, { enrollment: "open" }, []],
  [0, { enrollment: "open", maxParticipants: 4 }, ["strategy.f"]],
  [2, { enrollment: "open", maxParticipants: 5 }, []],
])(
  "%d participants and %j have the problems %j with krum: what counts is how many a round selects, places included",
  (count, given, paths) => {
    expect(problemsOf(count, given).map(({ path }) => path.join("."))).toEqual(paths);
  },
);

test("a strategy asks for more clients by a setting of its own alone", () => {
  for (const { leastClients, settings } of STRATEGIES)
    for (const { setting } of leastClients?.(() => 1) ?? []) expect(Object.keys(settings)).toContain(setting);
});
