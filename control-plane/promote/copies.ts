import { existsSync } from "node:fs";
import { readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { FileStore } from "../stores/file-store.ts";
import { ToolProblem } from "../tools/tool.ts";

const FOLDER = "promotion";
/** Room that a running platform needs beside the copy. */
const SPARE = 1.2;

/** Copies of a store as of one moment each, one for each round, in a folder of the store: their blobs are links. */
export class Copies {
  readonly #store: string;
  readonly #folder: string;
  readonly #openStore: (folder: string) => FileStore;

  constructor(storeFolder: string, openStore: (folder: string) => FileStore) {
    this.#store = storeFolder;
    this.#openStore = openStore;
    this.#folder = join(storeFolder, FOLDER);
  }

  /** Makes the copy of a round. A copy that was not completed is replaced. */
  async take(source: FileStore, round: number): Promise<void> {
    const partial = join(this.#folder, "partial");
    for (const left of [partial, this.#of(round)]) await rm(left, { recursive: true, force: true });
    await this.#requireRoom();
    await (await source.snapshot(partial)).close();
    await rename(partial, this.#of(round));
  }

  /** Throws if the copy of a round is not there, as after a canceled promotion. */
  require(round: number): void {
    if (existsSync(this.#of(round))) return;
    throw new ToolProblem(`${this.#of(round)} is gone, to which the database was brought. Drop the database and begin again.`);
  }

  open(round: number): FileStore {
    this.require(round);
    return this.#openStore(this.#of(round));
  }

  /** Removes the copies of earlier rounds. */
  async keepOnly(round: number): Promise<void> {
    if (!existsSync(this.#folder)) return;
    for (const name of await readdir(this.#folder)) {
      if (name !== String(round)) await rm(join(this.#folder, name), { recursive: true, force: true });
    }
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  #of(round: number): string {
    return join(this.#folder, String(round));
  }

  /** A full disk would stop the running platform. */
  async #requireRoom(): Promise<void> {
    const { size } = await stat(join(this.#store, "store.lmdb"));
    const { bavail, bsize } = await statfs(this.#store);
    if (bavail * bsize > size * SPARE) return;
    throw new ToolProblem(
      `${this.#store} needs ${Math.ceil(size * SPARE)} free bytes for a copy and has ${bavail * bsize}. Make room, or stop the platform first: then no copy is needed.`,
    );
  }
}
