import { csvTotal } from "./csv-total.ts";

test("the total of an export is exact, whatever characters its names contain", () => {
  const csv = 'id,teamName,cost\r\ncall_1,"a, ""b""\r\nc",9007199254740993\r\ncall_2,plain,1\r\n';
  expect(csvTotal(csv)).toEqual({ rows: 2, costNano: 9_007_199_254_740_994n });
});

test("an export without calls has a total of zero, and one without a cost column is rejected", () => {
  expect(csvTotal("id,cost\r\n")).toEqual({ rows: 0, costNano: 0n });
  expect(() => csvTotal("id,price\r\n1,2\r\n")).toThrow("no column cost");
});
