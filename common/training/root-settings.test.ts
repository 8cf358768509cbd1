import { privacyRules } from "./privacy-rules.ts";
import { rootOf, rootProblems } from "./root-settings.ts";

const fltrust = (index: number) => ({ name: "fltrust", root_participant: index });
const initial = { participant: 2 };

test.each<[string, Parameters<typeof rootProblems>[0], string[]]>([
  ["another strategy", { strategy: { name: "krum" }, participants: [] }, []],
  ["a root among the participants", { strategy: fltrust(2), initial, participants: [1, 2, 3] }, []],
  ["a root beyond them", { strategy: fltrust(3), initial, participants: [1, 2, 3] }, ["strategy.root_participant must be below 3"]],
  ["a root alone", { strategy: fltrust(0), initial, participants: [1] }, ["participants fltrust needs a participant beside the root"]],
  [
    "no model to start from",
    { strategy: fltrust(2), participants: [1, 2, 3] },
    ['initial fltrust needs parameters to start from, because a first round without them is a plain mean; {"participant": 2}'],
  ],
  [
    "strangers",
    { strategy: fltrust(0), initial, enrollment: "open", participants: [1, 2] },
    ["strategy.root_participant does not work with enrollment open"],
  ],
])("the root of FLTrust: %s", (_name, asked, problems) => {
  const found = rootProblems(asked).map(({ path, message }) => `${path.join(".")} ${message}`);
  expect(found).toEqual(problems.map((problem) => expect.stringContaining(problem)));
});

test("the root is named as the federation's participants are", () => {
  expect([rootOf(fltrust(2)), rootOf({ name: "fedavg" })]).toEqual(["p3", undefined]);
});

test.each(["local", "central"] as const)("strategies that need exact numbers of the data are refused with dp.mode %s", (mode) => {
  const dp = { mode, clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
  const problems = ["scaffold", "qfedavg", "fedavg"].map((name) => privacyRules({ dp }).problems({ strategy: { name } }).length);
  expect(problems).toEqual([1, 1, 0]);
});
