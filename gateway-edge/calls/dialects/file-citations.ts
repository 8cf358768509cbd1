/** A place of a text that names a result of a file search by the marker that the model got for it. */
export interface FileCitation<Result> {
  readonly index: number;
  readonly marker: string;
  readonly result: Result;
}

/** The marker that the model gets for a result. */
export const markerOf = (place: number) => `[${place + 1}]`;

/** The citations of a text; `results` are those of the last search, in the order of their markers. */
export function citationsIn<Result>(text: string, results: readonly Result[]): readonly FileCitation<Result>[] {
  if (results.length === 0) return [];
  return [...text.matchAll(/\[(\d{1,3})\]/g)].flatMap(({ index, 0: marker, 1: number }) => {
    const result = results[Number(number) - 1];
    return result === undefined ? [] : [{ index, marker, result }];
  });
}
