import { samples } from "./control-plane-fixture.ts";
import { CSV_HEADER, csvRow } from "./logs-csv.ts";
import { presentUsageLog } from "./present-usage.ts";

const cellsOf = (change: object) => csvRow({ ...presentUsageLog(samples.log), ...change });

test("a row has a cell for every column of the header and ends with CRLF", () => {
  expect(cellsOf({}).split(",")).toHaveLength(CSV_HEADER.split(",").length);
  expect(cellsOf({})).toMatch(/\r\n$/);
});

test("quotes, commas and line ends are quoted", () => {
  expect(cellsOf({ teamName: 'a "b", c\nd' })).toContain(',"a ""b"", c\nd",');
});

test.each(["=1+1", "+cmd", "-cmd", "@sum", "\tx"])("%p cannot run as a formula", (teamName) => {
  expect(cellsOf({ teamName })).toContain(`,'${teamName},`);
});

test("a negative amount stays a number", () => {
  expect(cellsOf({ cost: -5n, costUsd: "-0.000000005" })).toContain(",-5,-0.000000005,");
});
