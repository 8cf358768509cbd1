import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Logger } from "../../common/logger.ts";
import { systemRandom as random } from "../../common/random.ts";
import { declaredCapabilities } from "../../common/training/capabilities.ts";
import type { BlobFolder } from "../coordinator/blobs/blob-folder.ts";
import type { Participants } from "../coordinator/participants/participants.ts";
import { capabilitiesOf } from "../http/info.ts";
import { createPool } from "../pool/pool.ts";
import type { SimulationOptions } from "./options.ts";
import { createPythonClients } from "./python/python-clients.ts";
import { createPythonPool } from "./python/python-pool.ts";
import { createRayPool } from "./python/ray-pool.ts";
import { stragglersOf } from "./stragglers.ts";
import { createVirtualClients } from "./virtual-clients.ts";

const TASK_MS_MAX = 3_600_000;
const HEAP_MB = 2048;
/** Enough calls that no thread waits for the next one. */
const CALLS_PER_THREAD = 2;
/** An actor of Ray gets several calls at once. */
const CALLS_PER_ACTOR = 64;

/** The virtual clients of a simulation, and what computes for them. */
export interface OpenClients {
  readonly participants: Participants;
  /** How many calls at a time keep all of it busy. */
  readonly callsMax: number;
  close(): Promise<void>;
}

interface ClientTools {
  readonly blobs: BlobFolder;
  readonly logger: Logger;
}

/** Clients with Python functions are calls in processes; all others are calls in threads of this process. */
export function openClients(options: SimulationOptions, tools: ClientTools): OpenClients {
  return options.functions?.endsWith(".py") ? pythonClients(options, options.functions, tools) : threadClients(options, tools);
}

function pythonClients(options: SimulationOptions, file: string, { blobs }: ClientTools): OpenClients {
  const { python, threads, ray, proximal } = options;
  const pool =
    ray === undefined
      ? createPythonPool({ python, file, processes: threads })
      : createRayPool({ python, file, actors: threads, address: ray === true ? undefined : ray });
  return {
    participants: createPythonClients({ pool, blobs, partialWork: stragglersOf(options), proximal }),
    callsMax: (ray === undefined ? CALLS_PER_THREAD : CALLS_PER_ACTOR) * threads,
    close: async () => pool.close(),
  };
}

function threadClients(options: SimulationOptions, { blobs, logger }: ClientTools): OpenClients {
  const { clients, threads, functions, proximal } = options;
  const functionsUrl = functions === undefined ? undefined : pathToFileURL(resolve(functions)).href;
  const pool = createPool({
    threads,
    queueMax: clients,
    taskTimeoutMs: TASK_MS_MAX,
    workerHeapMb: HEAP_MB,
    workerData: { fallback: undefined, blobFolder: blobs.folder, functionsUrl },
    logger,
  });
  const declared = declaredCapabilities(
    capabilitiesOf({ builtins: true, registered: functions === undefined ? [] : ["train", "initial"], proximal }),
  );
  const able = [...declared].filter((name) => name !== "mask");
  return {
    participants: createVirtualClients({ pool, partialWork: stragglersOf(options), capabilities: new Set(able), random }),
    callsMax: CALLS_PER_THREAD * threads,
    close: () => pool.close(),
  };
}
