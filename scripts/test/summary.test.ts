import { countLine, type JestTest, summarize } from "./summary.ts";

const jestTest = (fullName: string, status: string): JestTest => ({ title: fullName, ancestorTitles: [], fullName, status });

test("a suite that cannot run counts as failed, and skipped tests are named", () => {
  const summary = summarize({
    numPassedTests: 2,
    numFailedTests: 1,
    numRuntimeErrorTestSuites: 1,
    testResults: [
      { name: "/a.test.ts", assertionResults: [jestTest("works", "passed")] },
      { name: "/b.test.ts", assertionResults: [jestTest("left out", "pending")] },
    ],
  });
  expect(summary).toEqual({ passed: 2, failed: 2, skipped: ["left out"] });
  expect(countLine(summary)).toBe("2 passed, 2 failed, 1 skipped");
});

test("without skipped tests the line has two numbers only", () => {
  expect(countLine({ passed: 3, failed: 0, skipped: [] })).toBe("3 passed, 0 failed");
});
