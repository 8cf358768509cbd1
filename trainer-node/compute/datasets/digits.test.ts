import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Dataset } from "./dataset.ts";
import { selectClasses, selectRows } from "./dataset.ts";
import { parseDigits, splitDigits } from "./digits.ts";
import { type Partition, partitionRows, SCHEMES } from "./partition.ts";

const text = readFileSync(join(__dirname, "digits.txt"), "utf8");
const digits = parseDigits(text);
const PER_CLASS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180];

const counts = ({ labels, classes }: Dataset) =>
  Array.from({ length: classes }, (_, label) => labels.filter((value) => value === label).length);
/** Every row as text, so that data sets can be compared as bags of rows. */
const rowsOf = ({ features, labels, columns }: Dataset) =>
  Array.from(labels, (label, row) => `${label}:${features.subarray(row * columns, (row + 1) * columns).join()}`);

describe("digits", () => {
  test("is whole: 1,797 images of 64 pixels from 0 to 1, with the known number of each digit", () => {
    expect(digits).toMatchObject({ rows: 1797, columns: 64, classes: 10 });
    expect(counts(digits)).toEqual(PER_CLASS);
    expect(Math.min(...digits.features)).toBe(0);
    expect(Math.max(...digits.features)).toBe(1);
    // The first line of scikit-learn's file, a zero, which RandomState(0) puts at this place.
    const first =
      "0:0,0,5,13,9,1,0,0,0,0,13,15,10,15,5,0,0,3,15,2,0,11,8,0,0,4,12,0,0,8,8,0,0,5,8,0,0,9,8,0,0,4,11,0,1,12,7,0,0,2,14,5,10,12,0,0,0,0,6,13,10,0,0,0";
    expect(rowsOf({ ...digits, features: digits.features.map((value) => value * 16) }).indexOf(first)).toBe(1284);
  });

  test("a damaged file is refused with its line", () => {
    expect(() => parseDigits(text.replace("\n", "\nz"))).toThrow("line 2");
  });

  test("train and test are 1,437 and 360 rows, share none and are the whole together", () => {
    const train = splitDigits(digits, "train");
    const held = splitDigits(digits, "test");
    expect([train.rows, held.rows]).toEqual([1437, 360]);
    expect([...rowsOf(train), ...rowsOf(held)].toSorted()).toEqual(rowsOf(digits).toSorted());
    expect(Math.min(...counts(held))).toBeGreaterThan(20);
  });

  test("a choice of classes keeps the number of classes, so that its model can be averaged with others", () => {
    const low = selectClasses(digits, new Set([0, 1, 2, 3, 4]));
    expect(low.classes).toBe(10);
    expect(counts(low)).toEqual([...PER_CLASS.slice(0, 5), 0, 0, 0, 0, 0]);
  });
});

describe("partitions", () => {
  const partOf = (partition: Partition) => selectRows(digits, partitionRows(digits, partition));
  const parts = (settings: Omit<Partition, "index">) => Array.from({ length: settings.of }, (_, index) => partOf({ ...settings, index }));

  test.each(SCHEMES)("%s: the parts are disjoint, cover the whole and depend on nothing but the seed", (scheme) => {
    for (const parties of [1, 7, 10]) {
      const settings = { scheme, of: parties, seed: 3, alpha: 0.5 } as const;
      const all = parts(settings).flatMap(rowsOf);
      expect(all.toSorted()).toEqual(rowsOf(digits).toSorted());
      expect(parts(settings).flatMap(rowsOf)).toEqual(all);
    }
    expect(rowsOf(partOf({ scheme, index: 0, of: 10, seed: 4, alpha: 0.5 }))).not.toEqual(
      rowsOf(partOf({ scheme, index: 0, of: 10, seed: 3, alpha: 0.5 })),
    );
  });

  test("iid parts are of one size and see every digit", () => {
    for (const part of parts({ scheme: "iid", of: 10, seed: 1, alpha: 1 })) {
      expect([179, 180]).toContain(part.rows);
      expect(counts(part).every((count) => count > 0)).toBe(true);
    }
  });

  test("two shards of sorted rows hold at most four digits", () => {
    for (const part of parts({ scheme: "shards", of: 10, seed: 1, alpha: 1 })) {
      expect(counts(part).filter((count) => count > 0).length).toBeLessThanOrEqual(4);
    }
  });

  test("a Dirichlet share is the more one-sided the smaller alpha, and tiny alphas lose no row", () => {
    const largestShare = (alpha: number) => {
      const shares = parts({ scheme: "dirichlet", of: 5, seed: 1, alpha }).map(
        (part) => Math.max(...counts(part)) / Math.max(1, part.rows),
      );
      return shares.reduce((sum, share) => sum + share, 0) / shares.length;
    };
    expect(largestShare(0.1)).toBeGreaterThan(largestShare(100) + 0.1);
    expect(parts({ scheme: "dirichlet", of: 5, seed: 1, alpha: 1e-4 }).reduce((sum, part) => sum + part.rows, 0)).toBe(1797);
  });

  test.each([
    { of: 10, alpha: 0.1, seed: 1 },
    { of: 50, alpha: 0.01, seed: 2 },
    { of: 150, alpha: 0.05, seed: 3 },
  ])("no Dirichlet part is empty with $of parts and alpha $alpha, and every row belongs to one part", ({ of: parties, ...settings }) => {
    const rows = Array.from({ length: parties }, (_, index) =>
      partitionRows(digits, { scheme: "dirichlet", index, of: parties, ...settings }),
    );
    expect(Math.min(...rows.map(({ length }) => length))).toBeGreaterThan(0);
    expect(rows.flatMap((part) => Array.from(part)).toSorted((left, right) => left - right)).toEqual(
      Array.from({ length: digits.rows }, (_, row) => row),
    );
  });

  test("more Dirichlet parts than rows leave some without any", () => {
    const few = { rows: 3, classes: 2, labels: Int32Array.of(0, 1, 0) };
    const sizes = Array.from(
      { length: 5 },
      (_, index) => partitionRows(few, { scheme: "dirichlet", index, of: 5, seed: 1, alpha: 0.5 }).length,
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(3);
    expect(Math.max(...sizes)).toBe(1);
  });
});
