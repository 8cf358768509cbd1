const Sequencer = require("@jest/test-sequencer").default;

/** Files that take a minute or more on two cores. Started last, one of them would run for minutes beside an idle worker. */
const LONG = [
  "test/browser/console.test.ts",
  "control-plane/stores/mongo/store.test.ts",
  "test/contract/hostile-input.test.ts",
  "test/faults/",
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
