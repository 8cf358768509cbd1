const WIDTH = 40;

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** One line for each round, or for each so many: a bar as long as the model is good. */
export function printCurve(accuracies: readonly number[], step = 1): void {
  for (const [index, accuracy] of accuracies.entries()) {
    const bar = "█".repeat(Math.round(accuracy * WIDTH)).padEnd(WIDTH, "·");
    say(`  round ${String((index + 1) * step).padStart(3)}  ${bar}  ${accuracy.toFixed(3)}`);
  }
}
