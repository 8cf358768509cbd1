import { countLine, summarize } from "./summary.ts";

test("a suite that cannot run counts as failed, and skipped tests are named", () => {
  const summary = summarize({
    numPassedTests: 2,
    numFailedTests: 1,
    numRuntimeErrorTestSuites: 1,
    testResults: [
      { assertionResults: [{ fullName: "works", status: "passed" }] },
      { assertionResults: [{ fullName: "left out", status: "pending" }] },
    ],
  });
  expect(summary).toEqual({ passed: 2, failed: 2, skipped: ["left out"] });
  expect(countLine(summary)).toBe("2 passed, 2 failed, 1 skipped");
});

test("without skipped tests the line has two numbers only", () => {
  expect(countLine({ passed: 3, failed: 0, skipped: [] })).toBe("3 passed, 0 failed");
});
