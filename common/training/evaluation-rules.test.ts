import { evaluationOf, evaluationProblem, evaluationProblems } from "./evaluation-rules.ts";
import { federationSettings } from "./federation-settings.ts";
import { federationWarnings } from "./federation-warnings.ts";

const noise = { clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
const PRIVACY = [
  ["central noise", { dp: { ...noise, mode: "central" } }],
  ["local noise", { dp: { ...noise, mode: "local" } }],
  ["secureAggregation", { secureAggregation: true }],
] as const;
const digits = { name: "digits", partition: { scheme: "iid" } };
const [MINE, YOURS, PUBLIC] = [[{ a: 1, y: 0 }], [{ a: 2, y: 1 }], [{ a: 3, y: 1 }]];
const OWN = [{ dataset: MINE }, { dataset: YOURS }];

interface Given {
  readonly eval?: object;
  readonly dataset?: unknown;
  readonly participants?: readonly object[];
  readonly enrollment?: "open";
}

/** A creation as the edge checks it. */
function asked(privacy: object, { eval: evaluation, dataset, participants = [{}, {}], ...more }: Given) {
  const given = { task: { name: "softmax", dataset }, ...privacy, ...more, ...(evaluation === undefined ? {} : { eval: evaluation }) };
  const parsed = federationSettings.parse(JSON.parse(JSON.stringify(given)));
  return { ...parsed, eval: evaluation === undefined ? undefined : parsed.eval, participants };
}

describe.each(PRIVACY)("with %s", (_name, privacy) => {
  const fieldOf = (given: Given) => evaluationProblem(asked(privacy, given))?.path.join(".");

  test.each<[string, Given, string]>([
    ["the participants' own rows", { eval: { mode: "sites" }, dataset: digits }, "eval.mode"],
    ["rows that participants have of their own, to stop early", { eval: { target: 0.9 } }, "eval"],
    ["a part of such rows", { eval: { dataset: { partition: { index: 0, of: 2 } } } }, "eval.dataset"],
    ["no rows, for which a node takes its own", { eval: { dataset: null } }, "eval.dataset"],
    ["the task's rows, which all train on", { eval: { patience: 2 }, dataset: MINE }, "eval"],
    ["the task's rows once more", { eval: { dataset: MINE }, dataset: MINE }, "eval.dataset"],
    ["rows of two participants together", { eval: { dataset: [...MINE, ...YOURS] }, participants: OWN }, "eval.dataset"],
    ["them in another order of columns", { eval: { dataset: [{ y: 0, a: 1 }] }, participants: OWN }, "eval.dataset"],
    [
      "rows of two columns in another order",
      { eval: { dataset: [{ b: 4, a: 3, label: 1 }] }, dataset: [{ a: 3, b: 4, label: 1 }] },
      "eval.dataset",
    ],
    ["a matrix of rows whose label is first", { eval: { dataset: { x: [[3]], y: [1] } }, dataset: [{ label: 1, a: 3 }] }, "eval.dataset"],
    ["them as a matrix", { eval: { dataset: { x: [[3], [2]], y: [1, 1] } }, participants: OWN }, "eval.dataset"],
    ["the split that nodes train on", { eval: { dataset: { name: "digits", split: "train" } }, dataset: digits }, "eval.dataset"],
    ["all of a dataset", { eval: { dataset: { name: "digits", split: "all" } }, dataset: digits }, "eval.dataset"],
    ["the split that the task names for both", { eval: {}, dataset: { name: "digits", split: "train" } }, "eval"],
    [
      "the held-out part of what one trains on whole",
      { eval: { dataset: "digits" }, participants: [{ dataset: { name: "digits", split: "all" } }, {}] },
      "eval.dataset",
    ],
    [
      "a dataset of their own name, whose splits are not known",
      { eval: { dataset: "hospital" }, dataset: { name: "hospital", split: "train" } },
      "eval.dataset",
    ],
    [
      "the same file",
      { eval: { dataset: { uri: "file:///rows.csv" } }, participants: [{ dataset: { uri: "file:///rows.csv", sha256: "0" } }] },
      "eval.dataset",
    ],
    ...["file:///./rows.csv", "file:////rows.csv", "FILE:///%72ows.csv", "file:///rows.csv#x", "file:///a/../rows.csv"].map(
      (uri): [string, Given, string] => [
        `the same file by another name (${uri})`,
        { eval: { dataset: { uri } }, participants: [{ dataset: { uri: "file:///rows.csv" } }] },
        "eval.dataset",
      ],
    ),
    ["a file of a node, where one trains on rows of its own", { eval: { dataset: { uri: "file:///rows.csv" } } }, "eval.dataset"],
    [
      "a file of a node, where one trains on what it has under a name",
      { eval: { dataset: { uri: "file:///rows.csv" } }, participants: [{ dataset: MINE }, { dataset: "hospital" }] },
      "eval.dataset",
    ],
    ["what an inner federation evaluates as it likes", { eval: { dataset: "digits" }, participants: [{ federation: "fed_1" }] }, "eval"],
    [
      "an inner federation among others",
      { eval: { dataset: "digits", participant: 1 }, participants: [{}, { federation: "fed_1" }] },
      "eval.participant",
    ],
  ])("the evaluation on %s is refused by its field", (_what, given, path) => {
    expect(fieldOf(given)).toBe(path);
  });

  test.each<[string, Given]>([
    ["the held-out part of a dataset of the nodes", { eval: { target: 0.9 }, dataset: digits }],
    ["that, if nothing is said of it", { dataset: "digits" }],
    ["that of a synthetic dataset", { dataset: { synthetic: { alpha: 1, beta: 1 } } }],
    ["rows outside the training data", { eval: { dataset: PUBLIC }, participants: OWN }],
    ["rows beside those that participants have of their own", { eval: { dataset: "digits" } }],
    [
      "a file, if all train on other files",
      {
        eval: { dataset: { uri: "file:///test.csv" } },
        participants: [{ dataset: { uri: "file:///a.csv" } }, { dataset: { uri: "https://a/test.csv" } }],
      },
    ],
    ["the task's rows, if all have others", { eval: {}, dataset: PUBLIC, participants: OWN }],
    ["no rows", { eval: { mode: "none" } }],
    ["rows that others than inner federations evaluate on", { eval: { dataset: "digits" }, participants: [{ federation: "fed_1" }, {}] }],
  ])("the evaluation on %s stays", (_what, given) => {
    expect(fieldOf(given)).toBeUndefined();
  });

  test.each<[string, Given]>([
    ["own rows", {}],
    ["the task's rows", { dataset: MINE }],
    ["the task's rows, which those with the join link train on", { dataset: PUBLIC, participants: OWN, enrollment: "open" }],
  ])("that on %s is left out with a warning if nobody asked for it", (_what, given) => {
    const created = asked(privacy, given);
    expect(evaluationOf(created)).toEqual({ mode: "none" });
    expect(federationWarnings({ ...created, maxSamples: 1 })).toEqual([
      expect.stringMatching(/^Rounds are not evaluated, because .*eval\.dataset/),
    ]);
  });
});

test("without dp and secureAggregation every evaluation stays, by default that of held-out data", () => {
  for (const given of [{ eval: { mode: "sites" } }, { dataset: MINE }, { eval: { dataset: MINE }, dataset: MINE }])
    expect(evaluationProblem(asked({}, given))).toBeUndefined();
  expect(evaluationOf(asked({}, {}))).toEqual({ mode: "held_out" });
  expect(federationWarnings({ ...asked({}, {}), maxSamples: 1 })).toEqual([]);
});

test("the reason says what to do instead", () => {
  const dp = { ...noise, mode: "central" };
  expect(evaluationProblem(asked({ dp }, { eval: { mode: "sites" } }))?.message).toBe(
    "sites publishes exact figures of the participants' own rows, which dp does not cover; use held_out with eval.dataset, rows outside the training data, or none",
  );
  expect(evaluationProblem(asked({ dp }, { eval: { dataset: [...PUBLIC, ...YOURS] }, participants: OWN }))?.message).toBe(
    "has row 1, which participants.1 trains on, and dp does not cover its exact figures; set eval.dataset to rows outside the training data, or eval.mode to none",
  );
});

test.each<[Given & { maxParticipants?: number }, string | undefined]>([
  [{ eval: { participant: 1 } }, undefined],
  [{ eval: { participant: 2 } }, "must be below 2, the number of participants"],
  [{ eval: { participant: 9, mode: "sites" } }, "must be below 2, the number of participants"],
  [{ eval: { participant: 9 }, enrollment: "open" }, undefined],
  [{ eval: { participant: 9 }, enrollment: "open", maxParticipants: 9 }, "must be below 9, the number of participants"],
])("of two participants, an evaluation by one that cannot be there is refused: %j", (given, message) => {
  expect(evaluationProblems(asked({}, given))).toEqual(message === undefined ? [] : [{ path: ["eval", "participant"], message }]);
});
