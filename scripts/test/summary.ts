import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** The part of jest's JSON results that is used here. */
export interface JestResults {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  /** Suites that could not run at all, for a syntax error or a failed import. */
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    /** The absolute path of the file. */ readonly name: string;
    /** "passed", or "failed" with a failed test or if the file could not run. */ readonly status: string;
    readonly assertionResults: readonly JestTest[];
  }[];
}

export interface JestTest {
  readonly title: string;
  /** Of the describe blocks around it. */
  readonly ancestorTitles: readonly string[];
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
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

/** The absolute paths of the files with a failed test, or that could not run. */
export function failedFiles(results: JestResults): string[] {
  return results.testResults.filter(({ status }) => status === "failed").map(({ name }) => name);
}

/** A line for each failed test and each file that could not run, with the first line of its reason; of these files only, if they are given. */
export function failureLines(results: JestResults, root: string, files: readonly string[] = failedFiles(results)): string[] {
  return results.testResults
    .filter(({ status, name }) => status === "failed" && files.includes(name))
    .flatMap(({ name, assertionResults }) => {
      const file = relative(root, name);
      const failed = assertionResults.filter(({ status }) => status === "failed");
      if (failed.length === 0) return [`FAILED ${file}: the file could not run`];
      return failed.map(({ fullName, failureMessages: [message = ""] }) => `FAILED ${file}: ${fullName}: ${firstLine(message)}`);
    });
}

const firstLine = (text: string) => stripVTControlCharacters(text.split("\n", 1)[0] ?? "");

/** These results with the files that ran again as they came out then. */
export function withRerun(first: JestResults, again: JestResults): JestResults {
  const second = new Map(again.testResults.map((suite) => [suite.name, suite]));
  const testResults = first.testResults.map((suite) => second.get(suite.name) ?? suite);
  const tests = testResults.flatMap((suite) => suite.assertionResults);
  const count = (status: string) => tests.filter((test) => test.status === status).length;
  return {
    testResults,
    numPassedTests: count("passed"),
    numFailedTests: count("failed"),
    numRuntimeErrorTestSuites: testResults.filter(cannotRun).length,
  };
}

const cannotRun = ({ status, assertionResults }: JestResults["testResults"][number]) =>
  status === "failed" && assertionResults.length === 0;

/** The last line of the output, for `.ci/run` and for people. */
export function countLine({ passed, failed, skipped }: Summary): string {
  return `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`;
}
