import { createHash } from "node:crypto";
import { createResultArrays, type ResultArrays, resultsAbove } from "../compute/clients/result-arrays.ts";
import { type ClientRecords, layoutOf, type Segment } from "../compute/clients/segments.ts";
import { createKernelMemory, KERNEL_BYTES_MAX, type KernelMemory } from "../compute/kernels/kernel-memory.ts";
import { isFloat, type Tensor } from "../compute/tensor.ts";
import { createRecordFile } from "./record-file.ts";

/** Clients' tensors during a call: the first ones in memory up to a limit, the rest in a file that only this thread can read. */
export interface OpenRecords extends ClientRecords {
  /**
   * Adds a client's tensors in the order of the segments and returns the client's index. The first client defines the segments. Tensors
   * that already lie above the top of `memory` stay in place, up to the end of the last one; others are copied.
   */
  add(tensors: readonly Tensor[]): number;
  /** The first numbers of a client's tensors. */
  prefix(client: number): readonly number[];
  /** SHA-256 of a whole record, for the few clients with equal prefixes. */
  digest(client: number): string;
  /** Releases memory and disk. */
  close(): void;
}

const PREFIX_NUMBERS = 128;
const DIGEST_STEP_BYTES = 2 ** 20;
/** Part of the address space that stays free beside one more client: the working rows of the largest call. */
const SCRATCH_BYTES = 256 * 1024 * 1024;

/** Options of client records. */
export interface RecordOptions {
  readonly folder: string;
  readonly memoryBytes: number;
  /** The caller's memory, which is returned in its original state. */
  readonly memory?: KernelMemory;
  /** The caller's arrays for models that have no room above the records. */
  readonly results?: ResultArrays;
}

/** Creates empty records. */
export function createClientRecords({
  folder,
  memoryBytes,
  memory = createKernelMemory(),
  results: others = createResultArrays(0),
}: RecordOptions): OpenRecords {
  const results = resultsAbove(memory, others);
  /** Addresses of the segments, by client; undefined for clients in the file. */
  const addresses: (readonly number[] | undefined)[] = [];
  const prefixes: (readonly number[])[] = [];
  const file = createRecordFile(folder);
  const bottom = memory.top;
  let layout: { segments: readonly Segment[]; recordBytes: number } = { segments: [], recordBytes: 0 };
  let order = new Map<Segment, number>();

  /** The client that is read next needs as much memory: if only one of the two fits, this one goes to the file. */
  const fits = (bytes: number): boolean =>
    memory.top + 2 * bytes - bottom <= memoryBytes && memory.top + 2 * bytes + SCRATCH_BYTES <= KERNEL_BYTES_MAX;
  const keep = (tensors: readonly Tensor[]): readonly number[] | undefined => {
    const lying = tensors.every(({ data }) => data.buffer === memory.buffer && data.byteOffset >= memory.top);
    if (lying) {
      const end = tensors.reduce((most, { data }) => Math.max(most, data.byteOffset + data.byteLength), memory.top);
      if (!fits(end - memory.top)) return undefined;
      memory.reserve(end - memory.top);
      return tensors.map(({ data }) => data.byteOffset);
    }
    if (!fits(layout.recordBytes)) return undefined;
    // The tensors are gathered first, because some of them may lie where the record will be.
    const record = new Uint8Array(layout.recordBytes);
    for (const [index, { offsetBytes }] of layout.segments.entries()) record.set(bytesOf(tensors[index] as Tensor), offsetBytes);
    const at = memory.reserve(layout.recordBytes);
    new Uint8Array(memory.buffer).set(record, at);
    return layout.segments.map(({ offsetBytes }) => at + offsetBytes);
  };
  const place = (client: number, segment: Segment): number | undefined => addresses[client]?.[order.get(segment) ?? 0];
  const read = (client: number, segment: Segment, offset: number, target: Uint8Array): void => {
    const at = place(client, segment);
    if (at === undefined) file.read(client * layout.recordBytes + segment.offsetBytes + offset, target);
    else target.set(new Uint8Array(memory.buffer, at + offset, target.byteLength));
  };
  return {
    memory,
    results,
    place,
    get count() {
      return addresses.length;
    },
    get segments() {
      return layout.segments;
    },
    add: (tensors) => {
      if (addresses.length === 0) {
        layout = layoutOf(tensors);
        order = new Map(layout.segments.map((segment, index) => [segment, index]));
      }
      const client = addresses.length;
      prefixes.push(Array.from((tensors.find(isFloat)?.data ?? []).slice(0, PREFIX_NUMBERS)));
      const places = keep(tensors);
      if (!places) {
        for (const [index, { offsetBytes }] of layout.segments.entries())
          file.write(client * layout.recordBytes + offsetBytes, bytesOf(tensors[index] as Tensor));
      }
      addresses.push(places);
      return client;
    },
    read: (client, segment, start, target) => read(client, segment, start * segment.elementBytes, target),
    prefix: (client) => prefixes[client] ?? [],
    digest: (client) => {
      const hash = createHash("sha256");
      const step = new Uint8Array(Math.min(DIGEST_STEP_BYTES, layout.recordBytes));
      for (const segment of layout.segments) {
        const bytes = segment.length * segment.elementBytes;
        for (let offset = 0; offset < bytes; offset += step.byteLength) {
          const part = step.subarray(0, Math.min(step.byteLength, bytes - offset));
          read(client, segment, offset, part);
          hash.update(part);
        }
      }
      return hash.digest("hex");
    },
    close: () => {
      addresses.length = 0;
      results.release();
      memory.release(bottom);
      file.close();
    },
  };
}

function bytesOf({ data }: Tensor): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
