const Sequencer = require("@jest/test-sequencer").default;

/**
 * Files that take longest, as measured; those that mostly wait stand between those that need the processor. Started last, one of them would
 * run for minutes beside idle workers.
 */
const LONG = [
  "test/browser/console.test.ts",
  "test/clients/conformance/r-retries.test.ts",
  "test/browser/customer.test.ts",
  "test/e2e/promote.test.ts",
  "test/clients/conformance/c8-silence.test.ts",
  "test/browser/operator.test.ts",
  "test/docs/snippets.test.ts",
  "test/faults/primary.test.ts",
  "control-plane/stores/mongo/store.test.ts",
  "test/e2e/kills/",
  "test/faults/storm.test.ts",
  "test/contract/hostile-input.test.ts",
  "trainer-node/coordinator/secure/secure-round.test.ts",
  "test/cli/cli.test.ts",
  "test/e2e/",
  "test/clients/",
  "test/docs/",
  "test/security/running.test.ts",
  "test/contract/",
  "trainer-node/transports.test.ts",
];

const rank = ({ path }) => {
  const position = LONG.findIndex((part) => path.includes(part));
  return position < 0 ? LONG.length : position;
};

/** Starts the long test files first; on a fresh clone jest knows no durations and goes by file size. */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((left, right) => rank(left) - rank(right));
  }
};
