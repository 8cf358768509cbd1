import { readFileSync } from "node:fs";
import { ConfigError } from "../common/config.ts";
import type { Dataset } from "./compute/datasets/dataset.ts";
import { labeledOf } from "./compute/datasets/rows.ts";
import { readDataset } from "./operations/dataset.ts";

/** Reads the node's default dataset once, at start, into memory that all threads share. */
export function loadDefaultDataset(path: string | undefined): Dataset | undefined {
  if (path === undefined) return undefined;
  try {
    const noNames = () => {
      throw new Error("the file must contain rows or {x, y}, not the name of a dataset");
    };
    const wish = { split: "all", kind: "labelled", labels: "required" } as const;
    return shared(labeledOf(readDataset(JSON.parse(readFileSync(path, "utf8")), wish, { digits: noNames, fallback: undefined, uris: [] })));
  } catch (cause) {
    throw new ConfigError([`DATASET_PATH: ${path} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`]);
  }
}

function shared(dataset: Dataset): Dataset {
  const features = new Float32Array(new SharedArrayBuffer(dataset.features.byteLength));
  features.set(dataset.features);
  const labels = new Int32Array(new SharedArrayBuffer(dataset.labels.byteLength));
  labels.set(dataset.labels);
  return { ...dataset, features, labels };
}
