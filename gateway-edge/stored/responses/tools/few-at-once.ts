/** Runs at most `count` at once; the results are in the order of the values. After an error no further value is begun. */
export async function fewAtOnce<Value, Result>(
  count: number,
  values: readonly Value[],
  run: (value: Value, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < values.length) {
      const index = next++;
      try {
        results[index] = await run(values[index] as Value, index);
      } catch (thrown) {
        next = values.length;
        throw thrown;
      }
    }
  };
  await Promise.all(Array.from({ length: count }, worker));
  return results;
}
