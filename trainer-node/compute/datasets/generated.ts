import { createRandom, PURPOSE, type SeededRandom } from "../random.ts";
import type { RowsData } from "./rows.ts";

const ROWS = 1000;
const SEED = 2026;

/** Datasets without a file: generated from one seed, identical on every node. */
export const GENERATED = {
  blobs: { about: "three clouds of points in four dimensions, 3 classes", make: makeBlobs },
  moons: { about: "two half moons that no straight line parts, 2 classes", make: makeMoons },
  line: { about: "y = 3·x0 - 2·x1 + 0.5 and a little noise; the label is a number", make: makeLine },
  topics: { about: "short made-up sentences on four topics, 4 classes; texts", make: makeTopics },
} as const satisfies Record<string, { about: string; make: () => RowsData }>;

/** The name of a generated dataset. */
export type GeneratedName = keyof typeof GENERATED;

function makeBlobs(): RowsData {
  const centers = [
    [2, 0, 0, 1],
    [-2, 1, 0, 0],
    [0, -2, 2, -1],
  ];
  return labeled(4, 3, (random, label) => (centers[label] as number[]).map((center) => center + random.normal()));
}

function makeMoons(): RowsData {
  return labeled(2, 2, (random, label) => {
    const angle = Math.PI * random.uniform();
    const [x, y] = label === 0 ? [Math.cos(angle), Math.sin(angle)] : [1 - Math.cos(angle), 0.5 - Math.sin(angle)];
    return [x + 0.1 * random.normal(), y + 0.1 * random.normal()];
  });
}

function makeLine(): RowsData {
  const random = createRandom(SEED, PURPOSE.generate);
  const features = Float32Array.from({ length: ROWS * 2 }, () => random.normal());
  const targets = Float32Array.from(
    { length: ROWS },
    (_, row) => 3 * (features[2 * row] as number) - 2 * (features[2 * row + 1] as number) + 0.5 + 0.05 * random.normal(),
  );
  return { kind: "valued", rows: ROWS, columns: 2, features, targets };
}

const TOPICS = [
  { who: ["the cook", "a baker", "my aunt"], does: ["salts", "bakes", "tastes"], what: ["the soup", "fresh bread", "an apple pie"] },
  {
    who: ["the goalkeeper", "a runner", "our team"],
    does: ["wins", "trains for", "loses"],
    what: ["the match", "the final race", "a medal"],
  },
  {
    who: ["the captain", "a sailor", "the harbour pilot"],
    does: ["steers", "repairs", "watches"],
    what: ["the ship", "an old boat", "the tide"],
  },
  {
    who: ["the teacher", "a student", "the professor"],
    does: ["explains", "reads", "writes"],
    what: ["the lesson", "a long essay", "the exam"],
  },
] as const;
const WHEN = ["today", "in the morning", "before noon", "every week", "again", "at last"] as const;

function makeTopics(): RowsData {
  const random = createRandom(SEED, PURPOSE.generate);
  const pick = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
  const labels = Int32Array.from({ length: ROWS }, () => random.below(TOPICS.length));
  const texts = Array.from(labels, (label) => {
    const topic = TOPICS[label] as (typeof TOPICS)[number];
    return `${pick<string>(topic.who)} ${pick<string>(topic.does)} ${pick<string>(topic.what)} ${pick(WHEN)}`;
  });
  return { kind: "texts", rows: ROWS, texts, labels, labeled: true, classes: TOPICS.length };
}

function labeled(columns: number, classes: number, point: (random: SeededRandom, label: number) => number[]): RowsData {
  const random = createRandom(SEED, PURPOSE.generate);
  const labels = Int32Array.from({ length: ROWS }, () => random.below(classes));
  const features = Float32Array.from(Array.from(labels, (label) => point(random, label)).flat());
  return { kind: "labelled", dataset: { rows: ROWS, columns, classes, features, labels } };
}
