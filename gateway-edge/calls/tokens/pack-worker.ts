import { parentPort, workerData } from "node:worker_threads";
import { packRanks, type Ranks } from "./packed-ranks.ts";
import type { EncodingName } from "./token-counter.ts";

const PUBLISHED: Readonly<Record<EncodingName, () => Promise<{ readonly default: Ranks }>>> = {
  o200k_base: () => import("gpt-tokenizer/bpeRanks/o200k_base"),
  cl100k_base: () => import("gpt-tokenizer/bpeRanks/cl100k_base"),
};

// This runs in a thread of its own: reading 4 MB of source would delay every call of the process, and its memory is free afterwards.
const packed = packRanks((await PUBLISHED[workerData as EncodingName]()).default);
parentPort?.postMessage(packed, [packed.bytes.buffer, packed.ends.buffer, packed.places.buffer]);
