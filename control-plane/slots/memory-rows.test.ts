import { memoryRows } from "./memory-rows.ts";
import { rowsContract } from "./rows-contract.ts";

rowsContract("memory", async () => memoryRows(4));
