/** The part of jest's JSON results that is used here. */
export interface JestResults {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  /** Suites that could not run at all, for a syntax error or a failed import. */
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    /** The absolute path of the file. */ readonly name: string;
    readonly assertionResults: readonly JestTest[];
  }[];
}

export interface JestTest {
  readonly title: string;
  /** Of the describe blocks around it. */
  readonly ancestorTitles: readonly string[];
  readonly fullName: string;
  readonly status: string;
}

export interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

const NOT_RUN = new Set(["pending", "skipped", "todo", "disabled"]);

export function summarize(results: JestResults): Summary {
  const tests = results.testResults.flatMap((suite) => suite.assertionResults);
  return {
    passed: results.numPassedTests,
    failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
    skipped: tests.filter(({ status }) => NOT_RUN.has(status)).map(({ fullName }) => fullName),
  };
}

/** The last line of the output, for `.ci/run` and for people. */
export function countLine({ passed, failed, skipped }: Summary): string {
  return `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`;
}
