import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { uniqueName } from "../../common/random.ts";
import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import type { Tensor } from "../compute/tensor.ts";

/** What a client's compressed updates have not sent yet. A round that is asked again gets what it got the first time. */
export interface Residuals {
  read(client: string, round: string): readonly Tensor[];
  keep(client: string, round: string, residuals: { before: readonly Tensor[]; after: readonly Tensor[] }): void;
}

/** Begins with a dot, so that it is no blob. */
const FOLDER = ".residuals";
const ROUND = "#round";
const CLIENTS_MAX = 1000;

/** Residuals as files beside a node's blobs: they survive a restart, and threads share them. Without a folder there are none. */
export function openResiduals(blobFolder: string | undefined, tenant: string): Residuals {
  if (blobFolder === undefined) return { read: () => [], keep: () => {} };
  const folder = join(blobFolder, FOLDER);
  const pathOf = (client: string): string => join(folder, hash("sha256", `${tenant}\0${client}`, "hex"));
  return {
    read: (client, round) => {
      const path = pathOf(client);
      if (!existsSync(path)) return [];
      const { tensors } = decodeParameters(readFileSync(path));
      const stored = tensors.find(({ name }) => name === ROUND)?.data as Uint8Array | undefined;
      return having(tensors, new TextDecoder().decode(stored) === round ? "before/" : "after/");
    },
    keep: (client, round, { before, after }) => {
      const path = pathOf(client);
      if (!existsSync(path)) makeRoom(folder);
      const text = new TextEncoder().encode(round);
      const tensors: Tensor[] = [
        { name: ROUND, dtype: "u8", shape: [text.length], data: text },
        ...named(before, "before/"),
        ...named(after, "after/"),
      ];
      const partial = join(folder, `.partial-${uniqueName()}`);
      writeFileSync(partial, encodeParameters(tensors, "safetensors"), { mode: 0o600 });
      renameSync(partial, path);
    },
  };
}

/** A client that came back after so many others starts without a residual, which costs it some precision once. */
function makeRoom(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const paths = readdirSync(folder).map((name) => join(folder, name));
  if (paths.length < CLIENTS_MAX) return;
  const byAge = paths.map((path) => ({ path, at: statSync(path).mtimeMs })).toSorted((left, right) => left.at - right.at);
  for (const { path } of byAge.slice(0, paths.length - CLIENTS_MAX + 1)) rmSync(path, { force: true });
}

const named = (tensors: readonly Tensor[], prefix: string): Tensor[] =>
  tensors.map((tensor) => ({ ...tensor, name: prefix + tensor.name }));

const having = (tensors: readonly Tensor[], prefix: string): Tensor[] =>
  tensors.filter(({ name }) => name.startsWith(prefix)).map((tensor) => ({ ...tensor, name: tensor.name.slice(prefix.length) }));
