import { countLine, failedFiles, failureLines, type JestTest, summarize, withRerun } from "./summary.ts";

const jestTest = (fullName: string, status: string): JestTest => ({
  title: fullName,
  ancestorTitles: [],
  fullName,
  status,
  failureMessages: status === "failed" ? ["Error: expected 1, received 2\n    at somewhere"] : [],
});

test("a suite that cannot run counts as failed, and skipped tests are named", () => {
  const summary = summarize({
    numPassedTests: 2,
    numFailedTests: 1,
    numRuntimeErrorTestSuites: 1,
    testResults: [
      { name: "/a.test.ts", status: "passed", assertionResults: [jestTest("works", "passed")] },
      { name: "/b.test.ts", status: "passed", assertionResults: [jestTest("left out", "pending")] },
    ],
  });
  expect(summary).toEqual({ passed: 2, failed: 2, skipped: ["left out"] });
  expect(countLine(summary)).toBe("2 passed, 2 failed, 1 skipped");
});

test("without skipped tests the line has two numbers only", () => {
  expect(countLine({ passed: 3, failed: 0, skipped: [] })).toBe("3 passed, 0 failed");
});

const first = {
  numPassedTests: 1,
  numFailedTests: 1,
  numRuntimeErrorTestSuites: 1,
  testResults: [
    { name: "/code/a.test.ts", status: "failed", assertionResults: [jestTest("works", "passed"), jestTest("waits", "failed")] },
    { name: "/code/b.test.ts", status: "failed", assertionResults: [] },
  ],
};

test("what failed is named with its file and the first line of its reason", () => {
  expect(failedFiles(first)).toEqual(["/code/a.test.ts", "/code/b.test.ts"]);
  expect(failureLines(first, "/code")).toEqual([
    "FAILED a.test.ts: waits: Error: expected 1, received 2",
    "FAILED b.test.ts: the file could not run",
  ]);
  expect(failureLines(first, "/code", ["/code/b.test.ts"])).toEqual(["FAILED b.test.ts: the file could not run"]);
});

test("a file that ran again counts as it came out then, and one that did not stays failed", () => {
  const again = {
    numPassedTests: 2,
    numFailedTests: 0,
    numRuntimeErrorTestSuites: 0,
    testResults: [
      { name: "/code/a.test.ts", status: "passed", assertionResults: [jestTest("works", "passed"), jestTest("waits", "passed")] },
    ],
  };
  expect(summarize(withRerun(first, again))).toEqual({ passed: 2, failed: 1, skipped: [] });
});
