import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** A file of this thread, created on first use. */
export interface RecordFile {
  write(position: number, bytes: Uint8Array): void;
  /** Fills the target. Throws if the file is shorter. */
  read(position: number, target: Uint8Array): void;
  close(): void;
}

/** Creates a record file in a folder. */
export function createRecordFile(parent: string): RecordFile {
  let file: number | undefined;
  /** The file is unlinked once it is open, so that it disappears with the thread in every case. */
  const open = (): number => {
    if (file !== undefined) return file;
    // mkdtemp creates the folder with mode 0700.
    const folder = mkdtempSync(join(parent, "tributary-aggregate-"));
    try {
      file = openSync(join(folder, "records"), "wx+", 0o600);
      return file;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  return {
    write: (position, bytes) => {
      let done = 0;
      while (done < bytes.byteLength) done += writeSync(open(), bytes, done, bytes.byteLength - done, position + done);
    },
    read: (position, target) => {
      let done = 0;
      while (done < target.byteLength) {
        const read = readSync(open(), target, done, target.byteLength - done, position + done);
        if (read === 0) throw new Error("the file of the clients' tensors is shorter than expected");
        done += read;
      }
    },
    close: () => {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}
