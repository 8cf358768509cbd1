import { createHash } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type ClientRecords, layoutOf, type Segment } from "../compute/clients/segments.ts";
import { isFloat, type Tensor } from "../compute/tensor.ts";

/** Clients' tensors while a call is worked on: the first ones in memory, up to a limit, the rest in a file that nobody else can read. */
export interface OpenRecords extends ClientRecords {
  /** The tensors in the order of the segments; the first client's tensors are the segments. Gives the client's number. */
  add(tensors: readonly Tensor[]): number;
  /** The first numbers of a client's tensors. */
  prefix(client: number): readonly number[];
  /** SHA-256 of a whole record; for the few that begin alike. */
  digest(client: number): string;
  /** Lets go of memory and disk. */
  close(): void;
}

const PREFIX_NUMBERS = 128;
const DIGEST_STEP_BYTES = 2 ** 20;

export function createClientRecords(options: { folder: string; memoryBytes: number }): OpenRecords {
  const kept: (Uint8Array | undefined)[] = [];
  const prefixes: (readonly number[])[] = [];
  let layout: { segments: readonly Segment[]; recordBytes: number } = { segments: [], recordBytes: 0 };
  let heldBytes = 0;
  let file: number | undefined;

  /** The file has no name any more once it is open: it is gone when the thread is, however that ends. */
  const open = (): number => {
    if (file !== undefined) return file;
    // mkdtemp makes the folder 0700.
    const folder = mkdtempSync(join(options.folder, "tributary-aggregate-"));
    try {
      file = openSync(join(folder, "records"), "wx+", 0o600);
      return file;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  const readAt = (client: number, offset: number, target: Uint8Array): void => {
    const record = kept[client];
    if (record) {
      target.set(record.subarray(offset, offset + target.byteLength));
      return;
    }
    let done = 0;
    while (done < target.byteLength) {
      const read = readSync(open(), target, done, target.byteLength - done, client * layout.recordBytes + offset + done);
      if (read === 0) throw new Error("the file of the clients' tensors ended too soon");
      done += read;
    }
  };
  return {
    get count() {
      return kept.length;
    },
    get segments() {
      return layout.segments;
    },
    add: (tensors) => {
      if (kept.length === 0) layout = layoutOf(tensors);
      const client = kept.length;
      const inMemory = heldBytes + layout.recordBytes <= options.memoryBytes;
      const record = inMemory ? new Uint8Array(layout.recordBytes) : undefined;
      for (const [index, { offsetBytes }] of layout.segments.entries()) {
        const { data } = tensors[index] as Tensor;
        const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
        if (record) record.set(bytes, offsetBytes);
        else writeWhole(open(), bytes, client * layout.recordBytes + offsetBytes);
      }
      if (record) heldBytes += layout.recordBytes;
      else if (layout.recordBytes > 0) padEnd(open(), (client + 1) * layout.recordBytes);
      kept.push(record);
      prefixes.push(Array.from((tensors.find(isFloat)?.data ?? []).slice(0, PREFIX_NUMBERS)));
      return client;
    },
    read: (client, segment, start, target) => readAt(client, segment.offsetBytes + start * segment.elementBytes, target),
    prefix: (client) => prefixes[client] ?? [],
    digest: (client) => {
      const hash = createHash("sha256");
      const step = new Uint8Array(Math.min(DIGEST_STEP_BYTES, layout.recordBytes));
      for (let offset = 0; offset < layout.recordBytes; offset += step.byteLength) {
        const part = step.subarray(0, Math.min(step.byteLength, layout.recordBytes - offset));
        readAt(client, offset, part);
        hash.update(part);
      }
      return hash.digest("hex");
    },
    close: () => {
      kept.length = 0;
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

function writeWhole(descriptor: number, bytes: Uint8Array, position: number): void {
  let done = 0;
  while (done < bytes.byteLength) done += writeSync(descriptor, bytes, done, bytes.byteLength - done, position + done);
}

/** The last segment may end before its record does; a byte at the end makes the record whole, zeros in between. */
function padEnd(descriptor: number, end: number): void {
  const last = new Uint8Array(1);
  if (readSync(descriptor, last, 0, 1, end - 1) === 0) writeSync(descriptor, last, 0, 1, end - 1);
}
