import type { EdgeDeps } from "../../../deps.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import type { Worker } from "../../../stored/records/worker.ts";
import { describeGatewayOperations, type GatewayOperation } from "../gateway-operation.ts";
import { type BatchesDeps, batchesOperations } from "./batches.ts";
import { type FilesDeps, filesOperations } from "./files.ts";

/** What teams upload, and what is made of it while nobody waits. */
export function filesAndBatches({ config, records, clock, random }: EdgeDeps, worker: Worker): GatewayOperation[] {
  return [
    ...filesOperations({ records, clock, random, fileBytesMax: config.fileBytesMax }),
    ...batchesOperations({ records, worker, clock, random, bodyBytesMax: config.jsonBodyBytesMax }),
  ];
}

/** What /openapi.json and /docs say of them; nobody is called for it. */
export function describeFilesAndBatches(): OperationDescription[] {
  return describeGatewayOperations([...filesOperations({} as FilesDeps), ...batchesOperations({} as BatchesDeps)]);
}
