import { connectionsWithin, openFilesIn, readOpenFilesMax } from "./open-files.ts";

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             95977                95977                processes
Max open files            1024                 524288               files
`;

test("connections to an upstream stay within half of the files that a process may have open, with room for the rest", () => {
  expect(openFilesIn(LIMITS)).toBe(1024);
  expect(openFilesIn(LIMITS.replace("1024  ", "unlimited"))).toBeUndefined();
  expect(connectionsWithin(8192, 1024)).toBe(384);
  expect(connectionsWithin(8192, 1_048_576)).toBe(8192);
  expect(connectionsWithin(8192, undefined)).toBe(8192);
  expect(connectionsWithin(8192, 64)).toBe(16);
  expect(connectionsWithin(2, 64)).toBe(2);
  if (process.platform === "linux") expect(readOpenFilesMax()).toBeGreaterThan(0);
});
