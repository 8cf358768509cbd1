import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ignore } from "../../../common/ignore.ts";
import { uniqueName } from "../../../common/random.ts";

/** Bytes that stay in memory; more go to a file. */
const MEMORY_BYTES_MAX = 64 * 1024;
const PIECE_BYTES = 64 * 1024;

/**
 * Bytes that are written once and can be read repeatedly, also while they are still written. Small content stays in memory. Larger content
 * is in a file that is unlinked at once, so that the system removes it when this process ends.
 */
export class Spool {
  readonly #folder: string;
  #memory: Buffer[] = [];
  #file: FileHandle | undefined;
  #size = 0;
  #state: "open" | "ended" | "failed" = "open";
  #failure: unknown;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  constructor(folder: string = tmpdir()) {
    this.#folder = folder;
  }

  /** Bytes so far. */
  get size(): number {
    return this.#size;
  }

  get isEnded(): boolean {
    return this.#state === "ended";
  }

  /** One write at a time. Resolves when the bytes are stored, so that the writer holds only one piece. */
  async write(bytes: Buffer): Promise<void> {
    if (!this.#file && this.#size + bytes.length <= MEMORY_BYTES_MAX) {
      this.#memory.push(bytes);
    } else {
      this.#file ??= await this.#openFile();
      await writeAll(this.#file, bytes, this.#size);
    }
    this.#size += bytes.length;
    this.#wake();
  }

  end(): void {
    if (this.#state === "open") this.#state = "ended";
    this.#wake();
  }

  /** Ends the content with an error, which readers get in place of the rest. */
  fail(reason: unknown): void {
    if (this.#state !== "open") return;
    this.#state = "failed";
    this.#failure = reason;
    this.#wake();
  }

  /** Reads from the first byte to the last, waiting for bytes that are not written yet. */
  async *read(): AsyncGenerator<Uint8Array> {
    let position = 0;
    for (;;) {
      while (position < this.#size) {
        const piece = await this.#pieceAt(position);
        position += piece.length;
        yield piece;
      }
      if (this.#state === "failed") throw this.#failure;
      if (this.#state === "ended") return;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Frees the disk. Active readers get an error. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.fail(new Error("the upload was dropped"));
    this.#memory = [];
    await ignore(this.#file?.close(), "the upload is dropped");
  }

  async #openFile(): Promise<FileHandle> {
    const path = join(this.#folder, `tributary-upload-${uniqueName()}`);
    const file = await open(path, "wx+", 0o600);
    try {
      await unlink(path);
      await writeAll(file, Buffer.concat(this.#memory), 0);
      if (this.#isClosed) throw new Error("the upload was dropped");
    } catch (thrown) {
      await file.close();
      throw thrown;
    }
    this.#memory = [];
    return file;
  }

  async #pieceAt(position: number): Promise<Uint8Array> {
    if (!this.#file) return Buffer.concat(this.#memory).subarray(position);
    const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, this.#size - position));
    const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) throw new Error("the upload's file is shorter than what was written to it");
    return buffer.subarray(0, bytesRead);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let offset = 0; offset < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, offset, bytes.length - offset, position + offset);
    offset += bytesWritten;
  }
}
