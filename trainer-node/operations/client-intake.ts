import { decodeParameters, type Format } from "../codec/parameters.ts";
import { alignTo } from "../compute/clients/segments.ts";
import { createKernels } from "../compute/kernels/create-kernels.ts";
import type { Kernels } from "../compute/kernels/kernels.ts";
import { InputProblem } from "../compute/problem.ts";
import { type Floats, firstNonFinite, isFloat, type Tensor } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import type { OpenRecords } from "../records/client-records.ts";
import { type ByteBuffer, createByteBuffer } from "../stream/byte-buffer.ts";
import { createMemoryBuffer } from "../stream/memory-buffer.ts";
import { PART_BYTES_MAX } from "./call-limits.ts";

/** One client of `parameters_list` after it was read. */
export class ClientEntry {
  readonly format: Format;
  /** The client's index in the records; undefined if `refused` is set. */
  readonly record: number | undefined;
  readonly refused: { tensor: string; element: number } | undefined;

  constructor(format: Format, record: number | undefined, refused: ClientEntry["refused"]) {
    this.format = format;
    this.record = record;
    this.refused = refused;
  }
}

/** Takes in clients' parameters while a body is read. */
export interface ClientIntake<Entry = ClientEntry> {
  /** The buffer for one client's container, cleared before each client. Bytes that are taken from it stay in place. */
  readonly buffer: ByteBuffer;
  /** Takes in one client's parameters. Afterwards the caller may reuse the bytes. */
  take(bytes: Uint8Array, index: number): Entry;
}

/** Intake for a registered aggregate function: every client's bytes as sent, including pickles, because the node does not read them. */
export function createRawIntake(): ClientIntake<Uint8Array> {
  return { buffer: createByteBuffer(PART_BYTES_MAX), take: (bytes) => bytes.slice() };
}

/** Intake for built-in strategies: each client is decoded, compared with the first and added to the records before the next one is read. */
export function createClientIntake(records: OpenRecords): ClientIntake {
  const kernels = createKernels(0, records.memory);
  let reference: number | undefined;
  let buffer: ByteBuffer | undefined;
  return {
    get buffer() {
      buffer ??= createMemoryBuffer(records.memory, PART_BYTES_MAX);
      return buffer;
    },
    take: (bytes, index) =>
      naming(index, () => {
        if (bytes.byteLength === 0) throw new InputProblem("VALIDATION_ERROR", "its parameters are empty");
        const { format, tensors } = decodeParameters(bytes);
        const refused = findNonFinite(tensors, kernels);
        if (refused) return new ClientEntry(format, undefined, refused);
        const aligned = reference === undefined ? tensors : alignTo(records.segments, tensors);
        if (!Array.isArray(aligned)) {
          throw new InputProblem(aligned.kind, `${aligned.message} as client ${reference} has it`, { tensor: aligned.tensor });
        }
        reference ??= index;
        return new ClientEntry(format, records.add(aligned), undefined);
      }),
  };
}

function naming<Result>(client: number, work: () => Result): Result {
  try {
    return work();
  } catch (thrown) {
    if (!(thrown instanceof InputProblem || thrown instanceof TrainerError)) throw thrown;
    throw new TrainerError(thrown.kind, `client ${client}: ${thrown.message}`, { details: { ...thrown.details, client }, cause: thrown });
  }
}

function findNonFinite(tensors: readonly Tensor[], kernels: Kernels): { tensor: string; element: number } | undefined {
  for (const tensor of tensors) {
    if (!isFloat(tensor) || knownFinite(tensor.data, kernels)) continue;
    const element = firstNonFinite(tensor.data);
    if (element >= 0) return { tensor: tensor.name, element };
  }
  return undefined;
}

function knownFinite(data: Floats, kernels: Kernels): boolean {
  return data instanceof Float32Array && data.buffer === kernels.memory.buffer && kernels.allFinite(data);
}
