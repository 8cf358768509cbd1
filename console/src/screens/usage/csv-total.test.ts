import { csvTotal } from "./csv-total.ts";

test("an export is added up exactly, whatever its names hold", () => {
  const csv = 'id,teamName,cost\r\ncall_1,"a, ""b""\r\nc",9007199254740993\r\ncall_2,plain,1\r\n';
  expect(csvTotal(csv)).toEqual({ rows: 2, costNano: 9_007_199_254_740_994n });
});

test("an export without a call is nothing, and one without costs is no export", () => {
  expect(csvTotal("id,cost\r\n")).toEqual({ rows: 0, costNano: 0n });
  expect(() => csvTotal("id,price\r\n1,2\r\n")).toThrow("no column called cost");
});
