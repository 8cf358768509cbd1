/**
 * A participant with its own training code: nearest class means. Each participant sums its rows by class, the sums of all are added,
 * and a row belongs to the class with the nearest mean. The federated model equals the model trained on all rows together.
 *
 *   node examples/participant.ts
 *   curl localhost:5000/train -d '{"dataset": {"name": "digits", "partition": {"index": 0, "of": 10}}}'
 */
import { ParticipantError, registerAggregate, registerEvaluate, registerTrain, run } from "tributary/participant";

/** Little-endian float64: classes, columns, then for every class its number of rows and the sum of each column. */
interface Sums {
  readonly classes: number;
  readonly columns: number;
  readonly table: Float64Array;
}

function read(bytes: Uint8Array): Sums {
  const values = new Float64Array(Uint8Array.from(bytes).buffer.slice(0, bytes.byteLength - (bytes.byteLength % 8)));
  const [classes = 0, columns = 0] = values;
  if (bytes.byteLength % 8 !== 0 || values.length !== 2 + classes * (columns + 1))
    throw new ParticipantError("SHAPE_MISMATCH", "these are no class sums", { bytes: bytes.byteLength });
  return { classes, columns, table: values.subarray(2) };
}

function write({ classes, columns, table }: Sums): Uint8Array {
  return new Uint8Array(Float64Array.of(classes, columns, ...table).buffer);
}

registerTrain((_parameters, _dataset, { rows }) => {
  const { columns, features, labels, rows: count } = rows();
  const classes = 10;
  const table = new Float64Array(classes * (columns + 1));
  for (const [row, label] of labels.entries()) {
    const at = label * (columns + 1);
    if (label >= classes) throw new ParticipantError("VALIDATION_ERROR", `row ${row} has label ${label}; there are ${classes}`, { row });
    table[at] = (table[at] ?? 0) + 1;
    for (let column = 0; column < columns; column++)
      table[at + 1 + column] = (table[at + 1 + column] ?? 0) + (features[row * columns + column] ?? 0);
  }
  return { parameters: write({ classes, columns, table }), numSamples: count };
});

registerAggregate((list) => {
  const [first, ...others] = list.map(read);
  if (!first) throw new ParticipantError("EMPTY_LIST", "the list of updates is empty");
  for (const [client, other] of others.entries()) {
    if (other.table.length !== first.table.length)
      throw new ParticipantError("SHAPE_MISMATCH", `client ${client + 1} has other columns`, { client: client + 1 });
    other.table.forEach((value, index) => {
      first.table[index] = (first.table[index] ?? 0) + value;
    });
  }
  return write(first);
});

registerEvaluate((parameters, _dataset, { rows }) => {
  if (!parameters) throw new ParticipantError("VALIDATION_ERROR", "send the parameters to judge", { field: "parameters" });
  const { classes, columns, table } = read(parameters);
  const data = rows();
  if (data.columns !== columns) throw new ParticipantError("SHAPE_MISMATCH", `the sums have ${columns} columns`, { columns });
  let right = 0;
  for (let row = 0; row < data.rows; row++) {
    const distances = Array.from({ length: classes }, (_, label) => {
      const at = label * (columns + 1);
      let squared = 0;
      for (let column = 0; column < columns; column++)
        squared += ((data.features[row * columns + column] ?? 0) - (table[at + 1 + column] ?? 0) / (table[at] ?? 0)) ** 2;
      // A class without rows has no mean, so it is never the nearest.
      return Number.isNaN(squared) ? Number.POSITIVE_INFINITY : squared;
    });
    if (distances.indexOf(Math.min(...distances)) === data.labels[row]) right++;
  }
  return { accuracy: right / data.rows, numSamples: data.rows };
});

await run();
