import { createHash } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { ignore } from "../../common/ignore.ts";
import { VERSION } from "../../common/version.ts";
import type { ControlConfig } from "../config.ts";
import type { Secrets } from "../crypto/secrets.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Store } from "../stores/store.ts";
import { filesBelow, linkBlobs } from "./blob-folders.ts";
import { type BackupFile, MANIFEST_FILE, type Manifest, SECRET_FILE, STORE_FOLDER, serializeManifest } from "./manifest.ts";
import { type TarEntry, writeTar } from "./tar.ts";

/** Folder in DATA_DIR where a backup is collected. One that a killed process left is replaced by the next backup. */
const WORK_FOLDER = "backup-in-progress";
/** A step of compression that costs little; most bytes are rows, which it halves. */
const GZIP_LEVEL = 1;
const CHUNK_BYTES = 256 * 1024;

/** What backups are made of. */
export interface BackupsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Without a SECRET_KEY, the root secret is a file in the data folder. */
  readonly config: Pick<ControlConfig, "dataDir" | "secretKey">;
  readonly secrets: Pick<Secrets, "fingerprint">;
}

/** Makes backups of a platform with the embedded store while it runs. */
export class Backups {
  readonly #options: BackupsOptions;
  #isRunning = false;
  /** When the newest scheduled backup was made; undefined if there is none yet. */
  newestAt: number | undefined;

  constructor(options: BackupsOptions) {
    this.#options = options;
  }

  /** Throws if no backup can begin now. */
  check(): void {
    if (!this.#options.store.snapshot) {
      throw new AppError(
        "VALIDATION_ERROR",
        "The records of this platform are in MongoDB: back them up with mongodump and check them with `gw admin ledger verify` (docs/operations/backup.md).",
      );
    }
    if (this.#isRunning) throw new AppError("UNAVAILABLE", "Another backup is running. Try again when it has ended.");
  }

  /** One compressed archive of the platform as of now. Its last file is the manifest. */
  async *archive(): AsyncGenerator<Uint8Array> {
    this.check();
    this.#isRunning = true;
    const folder = resolve(this.#options.config.dataDir, WORK_FOLDER);
    try {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { mode: 0o700 });
      const facts = await this.#collect(folder);
      yield* compressed(writeTar(this.#entries(folder, facts)));
    } finally {
      this.#isRunning = false;
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Links and copies everything into the folder, so that nothing of it changes while the archive is read, which takes as long as its reader. */
  async #collect(folder: string): Promise<Omit<Manifest, "format" | "files">> {
    const { store, clock, config, secrets } = this.#options;
    const dataDir = resolve(config.dataDir);
    const createdAt = new Date(clock.now()).toISOString();
    // Before and after: a blob that is removed meanwhile may be in use in the snapshot, and so may one that is new.
    await linkBlobs(dataDir, folder);
    const copy = await store.snapshot?.(join(folder, STORE_FOLDER));
    await linkBlobs(dataDir, folder);
    if (!copy) throw new Error("the store has no snapshots");
    try {
      return { createdAt, release: VERSION, secretFingerprint: secrets.fingerprint, ...(await storeFacts(copy)) };
    } finally {
      await copy.close();
    }
  }

  async *#entries(folder: string, facts: Omit<Manifest, "format" | "files">): AsyncGenerator<TarEntry> {
    const { dataDir, secretKey } = this.#options.config;
    const files: BackupFile[] = [];
    const done = (file: BackupFile) => void files.push(file);
    if (secretKey === undefined) yield* fileEntry(resolve(dataDir), SECRET_FILE, done);
    for (const path of await filesBelow(folder)) if (!path.endsWith("-lock")) yield* fileEntry(folder, path, done);
    const manifest = serializeManifest({ ...facts, files });
    yield { path: MANIFEST_FILE, bytes: manifest.length, content: Readable.from([manifest]) };
  }
}

async function storeFacts(reader: Reader): Promise<Pick<Manifest, "schema" | "heads">> {
  const schema = (await reader.get("settings", "schema"))?.value ?? "";
  const heads = await collect(reader.scan("ledgerHead"));
  return { schema, heads: heads.map(({ id, seq, hash }) => ({ id, seq, hash })) };
}

async function* fileEntry(folder: string, path: string, done: (file: BackupFile) => void): AsyncGenerator<TarEntry> {
  const file = await open(join(folder, path), "r");
  try {
    const { size: bytes } = await file.stat();
    const hash = createHash("sha256");
    const content = async function* () {
      for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: CHUNK_BYTES })) {
        hash.update(chunk as Buffer);
        yield chunk as Buffer;
      }
    };
    yield { path, bytes, content: content() };
    done({ path, bytes, sha256: hash.digest("hex") });
  } finally {
    await file.close();
  }
}

async function* compressed(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: GZIP_LEVEL });
  const written = pipeline(Readable.from(chunks), gzip);
  void ignore(written, "the reader of the archive gets the same error");
  try {
    yield* gzip as AsyncIterable<Uint8Array>;
  } finally {
    // A reader that leaves has destroyed the stream; what feeds it must have ended before its files are removed.
    await ignore(written, "the reader of the archive got the same error, or has left");
  }
}
