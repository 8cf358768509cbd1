const WIDTH = 40;

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** One line for each round: a bar as long as the model is good. */
export function printCurve(accuracies: readonly number[]): void {
  for (const [index, accuracy] of accuracies.entries()) {
    const bar = "█".repeat(Math.round(accuracy * WIDTH)).padEnd(WIDTH, "·");
    say(`  round ${String(index + 1).padStart(3)}  ${bar}  ${accuracy.toFixed(3)}`);
  }
}
