import { painter } from "./paint.ts";
import { bar } from "./progress.ts";
import { sparkline } from "./sparkline.ts";
import { record, table } from "./table.ts";
import { format, valueAt } from "./values.ts";

const paint = (_tone: string, text: string) => text;

test("money is exact down to the nano-USD, also where a double is not", () => {
  expect(format(9_007_199_254_740_993n, "usd")).toBe("$9007199.254740993");
  expect(format(-1n, "usd")).toBe("-$0.000000001");
});

test("untrusted text cannot move the cursor, change colors or reverse the text direction", () => {
  expect(format("a\u001b[2Jb\u0007\u202ec\nd")).toBe("a\ufffd[2Jb\ufffd\ufffdc d");
});

test("a table fits the terminal, and letters of two columns count as two", () => {
  const rows = [{ name: "東京".repeat(20), count: 12n }];
  const columns = [
    { title: "name", at: "name" },
    { title: "count", at: "count", as: "count" as const },
  ];
  const lines = table({ columns, rows, paint, width: 30 }).split("\n");
  expect(lines[1]).toBe(`${"東京".repeat(5)}東…  ${" ".repeat(3)}12`.replace("  ", "  "));
});

test("an ID is never cut: columns that leave no room for it are left out, and named", () => {
  const id = `key_${"1".repeat(33)}`;
  const columns = ["name", "id", "team", "status", "spend"].map((title) => ({ title, at: title }));
  const rows = [{ id, name: "a laptop with a long name", team: "Research", status: "active", spend: "$1.00" }];
  const lines = table({ columns, rows, paint, width: 60 }).split("\n");
  expect(lines).toEqual([
    `NAME         ${"ID".padEnd(37)}  TEAM`,
    `a laptop w…  ${id}  Research`,
    "Not shown: status, spend (wider terminal, or --fields)",
    "",
  ]);
});

test("times are relative on a terminal only", () => {
  const nowMs = Date.parse("2026-11-15T09:00:00Z");
  const shown = [
    "2026-11-15T08:59:59.500Z",
    "2026-11-15T08:58:00Z",
    "2026-11-14T08:00:00Z",
    "2026-11-17T10:00:00Z",
    "2026-01-02T03:04:05Z",
  ];
  expect(shown.map((time) => format(time, "time", nowMs))).toEqual(["now", "2 min ago", "1 d ago", "in 2 d", "2026-01-02"]);
  expect([format("soon", "time", nowMs), format(shown[1], "time")]).toEqual(["soon", "2026-11-15T08:58:00Z"]);
  const fields = [{ title: "created", at: "at", as: "time" as const }];
  expect(record({ fields, value: { at: shown[1] }, paint, nowMs })).toBe("created  2026-11-15T08:58:00Z (2 min ago)\n");
});

test("a path goes into lists, and takes the first of its alternatives that is there", () => {
  expect(valueAt({ data: [{ id: 1 }] }, "data.0.id")).toBe(1);
  expect(valueAt({ a: null, b: 2 }, "a|b")).toBe(2);
  expect(valueAt({}, "constructor.name")).toBeUndefined();
});

test("bars and curves stay in their bounds", () => {
  expect([bar(5, 4, 4), bar(0, 0, 4), bar(-1, 4, 4)]).toEqual(["████", "░░░░", "░░░░"]);
  expect([sparkline([0.1, 0.5, 0.9], 10), sparkline([1, 1], 10), sparkline([], 10), sparkline([1, 2, 3], 2)]).toEqual([
    "▁▅█",
    "▅▅",
    "",
    "▁█",
  ]);
});

test("colors only on a terminal that supports them", () => {
  const terminal = { isTerminal: true, columns: 80, write: () => undefined };
  expect(painter(terminal, {})("red", "x")).toBe("\u001b[31mx\u001b[0m");
  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) expect(painter(terminal, env)("red", "x")).toBe("x");
  expect(painter({ ...terminal, isTerminal: false }, {})("red", "x")).toBe("x");
});
