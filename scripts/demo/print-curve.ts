const WIDTH = 40;

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints one line per `step` rounds, with a bar for the accuracy. */
export function printCurve(accuracies: readonly number[], step = 1): void {
  for (const [index, accuracy] of accuracies.entries()) {
    const bar = "█".repeat(Math.round(accuracy * WIDTH)).padEnd(WIDTH, "·");
    print(`  round ${String((index + 1) * step).padStart(3)}  ${bar}  ${accuracy.toFixed(3)}`);
  }
}
