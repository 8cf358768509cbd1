import type { ClientRecords, Segment } from "../clients/segments.ts";
import { type Tensor, tensorFromBytes } from "../tensor.ts";

/** The maximum of integers, because the mean of counters is not a counter. */
export function maximumOf(records: ClientRecords, segment: Segment, clients: readonly number[]): Tensor {
  const read = (client: number): Tensor => {
    const bytes = new Uint8Array(segment.length * segment.elementBytes);
    records.read(client, segment, 0, bytes);
    return tensorFromBytes(segment, bytes);
  };
  const [first = 0, ...others] = clients;
  const result = read(first);
  for (const client of others) {
    const { data } = read(client);
    for (let index = 0; index < data.length; index++) {
      const value = data[index] as number | bigint;
      if (value > (result.data[index] as number | bigint)) result.data[index] = value;
    }
  }
  return result;
}
