import type { ReadBytes, TensorFile } from "../blobs/tensor-file.ts";
import type { PlacedTensor } from "../codec/safetensors.ts";
import type { ResultArrays } from "../compute/clients/result-arrays.ts";
import type { ClientRecords, Segment } from "../compute/clients/segments.ts";
import type { KernelMemory } from "../compute/kernels/kernel-memory.ts";
import { ELEMENT_BYTES, elementCount, isFloatType, type Tensor, type TensorHeader, tensorFromBytes } from "../compute/tensor.ts";

/** A range of elements of one tensor. */
export interface Slice {
  readonly header: TensorHeader;
  /** The index of the tensor in the model. */
  readonly tensor: number;
  readonly start: number;
  readonly length: number;
}

/** Fewest elements of a larger tensor that are read at once. With ten thousand clients, a window of this size has forty megabytes. */
const STEP_ELEMENTS = 1024;
const ALIGNMENT = 16;
const SLACK_BYTES = 64;

/** Divides a model into windows of about `bytesMax` bytes, independent of the number and size of its tensors. */
export function windowsOf(tensors: readonly TensorHeader[], bytesMax: number): Slice[][] {
  const windows: Slice[][] = [];
  let current: Slice[] = [];
  let room = bytesMax;
  for (const [tensor, header] of tensors.entries()) {
    const elements = elementCount(header.shape, header.name);
    const elementBytes = ELEMENT_BYTES[header.dtype];
    for (let start = 0; start < elements || (elements === 0 && start === 0); ) {
      const fitting = Math.max(STEP_ELEMENTS, Math.floor(room / elementBytes / STEP_ELEMENTS) * STEP_ELEMENTS);
      const length = Math.min(elements - start, fitting);
      current.push({ header, tensor, start, length });
      room -= length * elementBytes;
      start += Math.max(1, length);
      // A window contains a tensor at most once, because slices are identified by name.
      if (room > 0 && start >= elements) continue;
      windows.push(current);
      [current, room] = [[], bytesMax];
    }
  }
  return current.length > 0 ? [...windows, current] : windows;
}

/** The elements of a file within a window, under their tensors' names. */
export function readWindow(
  file: TensorFile,
  window: readonly Slice[],
  { results, nameOf = (name) => name }: { results: ResultArrays; nameOf?: (name: string) => string },
): Tensor[] {
  const placed = new Map(file.tensors.map((tensor) => [tensor.name, tensor]));
  return file.open((read) =>
    window.flatMap(({ header, start, length }) => {
      const found = placed.get(nameOf(header.name));
      if (!found) return [];
      const room = results.take(Math.ceil((length * ELEMENT_BYTES[found.dtype]) / 8), 8);
      const bytes = new Uint8Array(room.buffer, 0, length * ELEMENT_BYTES[found.dtype]);
      read(found.start + start * ELEMENT_BYTES[found.dtype], bytes);
      return [tensorFromBytes({ name: found.name, dtype: found.dtype, shape: [length] }, bytes)];
    }),
  );
}

/** The clients' elements in one window. */
export interface WindowRecords extends ClientRecords {
  /** Reads the window of every client into the kernels' memory. */
  load(): void;
  close(): void;
}

/** Opens one window over the files of all clients, in the kernels' memory. */
export function openWindow(
  files: readonly { file: TensorFile; tensors: readonly PlacedTensor[] }[],
  window: readonly Slice[],
  { memory, results }: { memory: KernelMemory; results: ResultArrays },
): WindowRecords {
  let recordBytes = 0;
  const segments = window.map(({ header: { name, dtype }, length }): Segment => {
    const elementBytes = ELEMENT_BYTES[dtype];
    const segment = { name, dtype, shape: [length], length, float: isFloatType(dtype), elementBytes, offsetBytes: recordBytes };
    recordBytes += Math.ceil((length * elementBytes) / ALIGNMENT) * ALIGNMENT;
    return segment;
  });
  const order = new Map(segments.map((segment, index) => [segment, index]));
  const bottom = memory.top;
  // Kernels read a few elements beyond the last.
  const first = memory.reserve(files.length * recordBytes + SLACK_BYTES);
  const at = (client: number, segment: Segment): number => first + client * recordBytes + segment.offsetBytes;
  const fill = (read: ReadBytes, client: number, tensors: readonly PlacedTensor[]): void => {
    for (const [index, segment] of segments.entries()) {
      const { start, tensor } = window[index] as Slice;
      const target = new Uint8Array(memory.buffer, at(client, segment), segment.length * segment.elementBytes);
      read((tensors[tensor] as PlacedTensor).start + start * segment.elementBytes, target);
    }
  };
  return {
    count: files.length,
    segments,
    results,
    memory,
    place: (client, segment) => (order.has(segment) ? at(client, segment) : undefined),
    read: (client, segment, start, target) =>
      target.set(new Uint8Array(memory.buffer, at(client, segment) + start * segment.elementBytes, target.byteLength)),
    load: () => {
      for (const [client, { file, tensors }] of files.entries()) file.open((read) => fill(read, client, tensors));
    },
    close: () => {
      memory.release(bottom);
      results.release();
    },
  };
}
