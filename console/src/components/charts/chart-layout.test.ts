import { indexAt, labelEvery, type Plot, plotOf, type Series, segmentsOf, seriesAt, ticksOf, xOf, yOf } from "./chart-layout.ts";

const plot: Plot = { left: 100, top: 0, width: 400, height: 100 };
const good: Series = { name: "good", label: "Good", color: "river.6" };
const bad: Series = { name: "bad", label: "Bad", color: "red.6" };

test("a bar begins at zero and is as high as the sum of its series; amounts of zero have no part", () => {
  const data = [
    { label: "a", good: 30, bad: 10 },
    { label: "b", good: 0, bad: 5 },
  ];
  const ticks = ticksOf({ kind: "bar", data, series: [good, bad], isCount: true, isRange: false });
  expect(ticks).toEqual([0, 10, 20, 30, 40]);
  expect(segmentsOf({ label: "a", good: 30, bad: 10 }, [good, bad]).map(({ from, to }) => [from, to])).toEqual([
    [0, 30],
    [30, 40],
  ]);
  expect(segmentsOf({ label: "b", good: 0, bad: 5 }, [good, bad]).map(({ series }) => series.name)).toEqual(["bad"]);
  expect([yOf(0, { ticks, plot }), yOf(40, { ticks, plot })]).toEqual([100, 0]);
});

test("every position in the picture is in the slot of a point, and the middle of a slot is in its own", () => {
  for (let index = 0; index < 7; index++) expect(indexAt(xOf(index, { count: 7, plot }), { count: 7, plot })).toBe(index);
  expect([indexAt(-50, { count: 7, plot }), indexAt(9_999, { count: 7, plot })]).toEqual([0, 6]);
});

test("a position is of the part of the bar under it, or of no series above the bar", () => {
  const at = (y: number) =>
    seriesAt({ kind: "bar", point: { label: "a", good: 30, bad: 10 }, series: [good, bad], y, ticks: [0, 50, 100], plot })?.name;
  expect([at(90), at(65), at(20)]).toEqual(["good", "bad", undefined]);
});

test("a line is found near its point, and a series without a value is never found", () => {
  const at = (y: number) =>
    seriesAt({ kind: "line", point: { label: "a", good: 50 }, series: [good, bad], y, ticks: [0, 100], plot })?.name;
  expect([at(45), at(99)]).toEqual(["good", undefined]);
});

test("without values the axis is zero only, and everything is on the ground", () => {
  const ticks = ticksOf({ kind: "line", data: [{ label: "a" }], series: [good], isCount: false, isRange: true });
  expect(ticks).toEqual([0]);
  expect(yOf(0, { ticks, plot })).toBe(100);
});

test("labels never touch, and a narrow window still has a plot", () => {
  const labels = Array.from({ length: 30 }, (_, index) => `${index + 1} Nov`);
  expect(labelEvery({ labels, plot })).toBe(5);
  expect(labelEvery({ labels: ["a"], plot })).toBe(1);
  expect(plotOf({ width: 10, height: 10, axisLabels: ["$100,000.00"] }).width).toBe(1);
});
