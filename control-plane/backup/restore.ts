import { createReadStream } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { createGunzip } from "node:zlib";
import { uniqueName } from "../../common/random.ts";
import { syncFolder } from "../../common/sync-folder.ts";
import { writeHashed } from "../../common/write-hashed.ts";
import type { VerifyLedgerResponse } from "../../proto/gen/tributary/ledger/v1/ledger.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import type { Store } from "../stores/store.ts";
import { ToolProblem } from "../tools/tool.ts";
import { type BackupFile, MANIFEST_FILE, type Manifest, parseManifest, SECRET_FILE, STORE_FOLDER } from "./manifest.ts";
import { readTar, type TarEntry } from "./tar.ts";

/** What was restored. */
export interface Restored {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly ledger: VerifyLedgerResponse;
  /** Whether the root secret is in the folder; if not, it must be given as SECRET_KEY. */
  readonly hasSecretFile: boolean;
}

export interface RestoreOptions {
  readonly from: string;
  readonly folder: string;
  readonly openStore: (folder: string) => Store;
  readonly signal: AbortSignal;
}

/**
 * Restores a backup into a folder that does not exist or is empty. Everything is written beside the folder and gets its name when the
 * hash of every file is right and the ledger is proved; before that, any failure leaves nothing.
 */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const folder = resolve(options.folder);
  await requireEmpty(folder);
  const draft = `${folder}.restoring-${uniqueName()}`;
  try {
    await mkdir(draft, { recursive: true, mode: 0o700 });
    const { manifest, files } = await unpack(options.from, draft).catch((thrown: unknown) => {
      throw new ToolProblem(`${options.from} is not a whole backup: ${reasonOf(thrown)}. Nothing was restored.`);
    });
    const ledger = await prove(options, join(draft, STORE_FOLDER), manifest);
    await rename(draft, folder);
    await syncFolder(dirname(folder));
    return { folder, manifest, ledger, hasSecretFile: files.some(({ path }) => path === SECRET_FILE) };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

const reasonOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

async function requireEmpty(folder: string): Promise<void> {
  const found = await readdir(folder).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return [];
    throw new ToolProblem(`${folder} cannot be used: ${thrown.message}`);
  });
  if (found.length > 0) throw new ToolProblem(`${folder} is not empty. Restore into a new folder; nothing was changed.`);
}

/** Unpacks the archive and compares it with its manifest. */
async function unpack(from: string, folder: string): Promise<{ manifest: Manifest; files: BackupFile[] }> {
  const archive = createReadStream(from);
  const unzipped = createGunzip();
  archive.on("error", (error) => unzipped.destroy(error));
  const files: BackupFile[] = [];
  let manifest: Manifest | undefined;
  try {
    for await (const entry of readTar(archive.pipe(unzipped))) {
      if (manifest) throw new Error(`${entry.path} comes after the manifest`);
      if (entry.path === MANIFEST_FILE) manifest = parseManifest(await bytesOf(entry));
      else files.push(await writeEntry(folder, entry));
    }
  } finally {
    archive.destroy();
  }
  if (!manifest) throw new Error("it has no manifest");
  compare(files, manifest.files);
  return { manifest, files };
}

async function bytesOf({ content }: TarEntry): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

/** Paths of backups: in the folder, without "..". */
const SAFE_PATH = /^(?!.*(^|\/)\.\.?(\/|$))[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/;

async function writeEntry(folder: string, { path, content }: TarEntry): Promise<BackupFile> {
  if (!SAFE_PATH.test(path)) throw new Error(`it has a file with the path ${JSON.stringify(path)}`);
  const target = join(folder, path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  return { path, ...(await writeHashed(target, content, "wx")) };
}

function compare(found: readonly BackupFile[], expected: readonly BackupFile[]): void {
  const left = new Map(found.map((file) => [file.path, file]));
  for (const { path, sha256 } of expected) {
    if (left.get(path)?.sha256 !== sha256) throw new Error(left.has(path) ? `${path} is damaged` : `${path} is missing`);
    left.delete(path);
  }
  const [unknown] = left.keys();
  if (unknown !== undefined) throw new Error(`${unknown} is not in its manifest`);
}

/** Opens the store and verifies the whole ledger, whose heads must be those of the backup. */
async function prove({ openStore, signal }: RestoreOptions, folder: string, { heads }: Manifest): Promise<VerifyLedgerResponse> {
  const store = openStore(folder);
  try {
    for (const { id, seq, hash } of heads) {
      const head = await store.get("ledgerHead", id);
      if (head?.seq !== seq || head.hash !== hash) throw new ToolProblem(`The ledger does not end at entry ${seq}. Nothing was restored.`);
    }
    const ledger = await checkLedger(store, signal);
    if (!ledger.ok) {
      const reason = ledger.firstBad ? `${ledger.firstBad.record}: ${ledger.firstBad.reason}` : `its accounts sum to ${ledger.sum}`;
      throw new ToolProblem(`The ledger of the backup is not valid: ${reason}. Nothing was restored.`);
    }
    return ledger;
  } finally {
    await store.close();
  }
}
