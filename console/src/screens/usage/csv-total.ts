/** Row count and exact nano-USD of an export, computed from the file itself. */
export function csvTotal(csv: string): { rows: number; costNano: bigint } {
  const [header = [], ...rows] = parseCsv(csv);
  const column = header.indexOf("cost");
  if (column < 0) throw new Error("The export has no column cost.");
  return { rows: rows.length, costNano: rows.reduce((sum, row) => sum + BigInt(row[column] ?? "0"), 0n) };
}

/** RFC 4180: quoted cells may contain commas, quotes and line breaks. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  return rows;
}
