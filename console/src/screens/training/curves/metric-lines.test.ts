import { aggregateLine, evaluationFailures, formatMetric, type MeasuredRound, metricNames, participantLine } from "./metric-lines.ts";

const participant = (participantId: string, evaluate: Record<string, number>, reason?: string) => ({
  participantId,
  metrics: { train: { loss: 2 }, evaluate },
  evaluation: reason === undefined ? { state: "done", reason: null } : { state: "failed", reason },
});
const ROUNDS: MeasuredRound[] = [
  {
    round: 1,
    accuracy: 0.5,
    loss: null,
    metrics: { train: { loss: 2 }, evaluate: { accuracy: 0.5, f1: 0.4 } },
    participants: [participant("p1", { accuracy: 0.5, f1: 0.4 }), participant("p2", {}, "no data")],
  },
  {
    round: 2,
    accuracy: null,
    loss: null,
    metrics: { train: { loss: 1 }, evaluate: {} },
    participants: [participant("p1", { accuracy: 0.6 }), participant("p2", {}, "no data")],
  },
];

test("every number that train and evaluate returned can be chosen", () => {
  expect(metricNames(ROUNDS)).toEqual(["accuracy", "evaluate.accuracy", "evaluate.f1", "train.loss"]);
});

test("a round without the metric has no point, and a participant's accuracy is that of its own evaluation", () => {
  expect(aggregateLine(ROUNDS, "accuracy")).toEqual([{ round: 1, value: 0.5 }]);
  expect(aggregateLine(ROUNDS, "train.loss").map(({ value }) => value)).toEqual([2, 1]);
  expect(participantLine(ROUNDS, "accuracy", "p1").map(({ value }) => value)).toEqual([0.5, 0.6]);
  expect(participantLine(ROUNDS, "accuracy", "p2")).toEqual([]);
});

test("a metric may have the name of a property that every object inherits", () => {
  const [first] = ROUNDS as [MeasuredRound];
  const named: MeasuredRound = { ...first, round: 3, metrics: { train: { constructor: 7 } as never, evaluate: {} } };
  expect(aggregateLine([...ROUNDS, named], "train.constructor")).toEqual([{ round: 3, value: 7 }]);
  expect(aggregateLine(ROUNDS, "train.toString")).toEqual([]);
});

test("failed evaluations are listed with their reason, the rounds of one reason together", () => {
  expect(evaluationFailures(ROUNDS)).toEqual([{ participantId: "p2", reason: "no data", rounds: [1, 2] }]);
});

test.each([
  ["accuracy", 0.9456, undefined, "94.6%"],
  ["evaluate.accuracy", 0.945, 3, "94.5%"],
  ["loss", 0.00012, undefined, "1.20e-4"],
  ["loss", 1234.5678, undefined, "1,234.57"],
  ["train.loss", 0.5, 2, "0.50"],
])("%s %f with decimals %s is %s", (metric, value, decimals, shown) => {
  expect(formatMetric(metric, value, decimals)).toBe(shown);
});
