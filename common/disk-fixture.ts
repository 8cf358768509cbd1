import type { Disk, DiskFile } from "./disk.ts";

/** One disk operation that a power cut can precede or interrupt. */
export interface DiskStep {
  readonly type: "create" | "write" | "truncate" | "datasync" | "rename" | "remove" | "sync-folder";
  readonly path: string;
  /** Only for a write. */
  readonly bytes?: Uint8Array;
}

export interface FakeDisk extends Disk {
  /** Called before every step; an error it throws becomes the error of the step. */
  onStep: ((step: DiskStep) => void) | undefined;
  /** Total size limit of all files in bytes; a write beyond it is partial and fails with ENOSPC. */
  capacity: number;
  usedBytes(): number;
  /** A copy of the current disk with synced and unsynced data; it is cheap, because written data is shared and never changed in place. */
  copy(): FakeDisk;
  /**
   * The disk after a power cut: synced data, and of each file's unsynced writes the first `unsynced` bytes (default none).
   * File names that were not synced are gone, and removals that were not synced are undone.
   */
  afterPowerCut(survives?: { unsynced?: (path: string, bytes: number) => number }): FakeDisk;
  /** The disk after a process crash: all completed writes, and a part of the interrupted write. */
  afterKill(tornWrite?: { path: string; bytes: Uint8Array }): FakeDisk;
}

interface FakeFile {
  /** Never changed in place, so that copies of a disk can share them. */
  chunks: Uint8Array[];
  size: number;
  synced: { chunks: Uint8Array[]; size: number };
}

/** An in-memory disk that separates synced data from data that was only written. */
export function fakeDisk(): FakeDisk {
  return new MemoryDisk(new Map());
}

class MemoryDisk implements FakeDisk {
  onStep: ((step: DiskStep) => void) | undefined;
  capacity = Number.POSITIVE_INFINITY;
  readonly #files: Map<string, FakeFile>;
  /** File names that survive a power cut. */
  #safeNames: Map<string, FakeFile>;

  constructor(files: Map<string, FakeFile>, safeNames = files) {
    this.#files = files;
    this.#safeNames = new Map(safeNames);
  }

  makeFolder(): void {}

  list(folder: string): string[] {
    return [...this.#files.keys()].filter((path) => path.startsWith(`${folder}/`)).map((path) => path.slice(folder.length + 1));
  }

  read(path: string): Buffer {
    return Buffer.concat(this.#file(path).chunks);
  }

  create(path: string): DiskFile {
    this.onStep?.({ type: "create", path });
    if (this.#files.has(path)) throw diskError("EEXIST", path);
    const file: FakeFile = { chunks: [], size: 0, synced: { chunks: [], size: 0 } };
    this.#files.set(path, file);
    return this.#handle(path, file);
  }

  append(path: string): DiskFile {
    return this.#handle(path, this.#file(path));
  }

  rename(from: string, to: string): void {
    this.onStep?.({ type: "rename", path: from });
    const file = this.#file(from);
    this.#files.delete(from);
    this.#files.set(to, file);
  }

  remove(path: string): void {
    this.onStep?.({ type: "remove", path });
    if (!this.#files.delete(path)) throw diskError("ENOENT", path);
  }

  async syncFolder(folder: string): Promise<void> {
    await nextTurn();
    this.onStep?.({ type: "sync-folder", path: folder });
    this.#safeNames = new Map(this.#files);
  }

  usedBytes(): number {
    return [...this.#files.values()].reduce((sum, { size }) => sum + size, 0);
  }

  copy(): FakeDisk {
    const copies = new Map<FakeFile, FakeFile>();
    const copyOf = ([path, file]: [string, FakeFile]): [string, FakeFile] => {
      const copied = copies.get(file) ?? { ...file };
      copies.set(file, copied);
      return [path, copied];
    };
    return new MemoryDisk(new Map([...this.#files].map(copyOf)), new Map([...this.#safeNames].map(copyOf)));
  }

  afterPowerCut({ unsynced = () => 0 }: { unsynced?: (path: string, bytes: number) => number } = {}): FakeDisk {
    const left = new Map<string, FakeFile>();
    for (const [path, { chunks, size, synced }] of this.#safeNames) {
      // A file truncated below its synced size has no unsynced bytes.
      const more = size > synced.size ? unsynced(path, size - synced.size) : 0;
      left.set(path, more > 0 ? stored(firstBytes(chunks, synced.size + more)) : stored(synced.chunks));
    }
    return new MemoryDisk(left);
  }

  afterKill(tornWrite?: { path: string; bytes: Uint8Array }): FakeDisk {
    const left = new Map<string, FakeFile>();
    for (const [path, { chunks }] of this.#files) {
      left.set(path, stored(tornWrite?.path === path ? [...chunks, tornWrite.bytes] : chunks));
    }
    return new MemoryDisk(left);
  }

  #handle(path: string, file: FakeFile): DiskFile {
    return {
      write: (bytes) => {
        this.onStep?.({ type: "write", path, bytes });
        const fitting = Math.max(0, Math.min(bytes.length, this.capacity - this.usedBytes()));
        file.chunks = [...file.chunks, new Uint8Array(bytes.subarray(0, fitting))];
        file.size += fitting;
        if (fitting < bytes.length) throw diskError("ENOSPC", path);
      },
      truncate: (size) => {
        this.onStep?.({ type: "truncate", path });
        file.chunks = firstBytes(file.chunks, size);
        file.size = size;
      },
      datasync: async () => {
        const { chunks, size } = file;
        await nextTurn();
        this.onStep?.({ type: "datasync", path });
        file.synced = { chunks, size };
      },
      close: () => {},
    };
  }

  #file(path: string): FakeFile {
    const file = this.#files.get(path);
    if (!file) throw diskError("ENOENT", path);
    return file;
  }
}

function stored(chunks: Uint8Array[]): FakeFile {
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  return { chunks, size, synced: { chunks, size } };
}

function firstBytes(chunks: readonly Uint8Array[], size: number): Uint8Array[] {
  const first: Uint8Array[] = [];
  let left = size;
  for (const chunk of chunks) {
    if (left <= 0) break;
    first.push(chunk.subarray(0, left));
    left -= chunk.length;
  }
  return first;
}

function diskError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
