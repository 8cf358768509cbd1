import { memoryRows } from "./memory-rows-fixture.ts";
import { rowsContract } from "./rows-contract.ts";

rowsContract("memory", async () => memoryRows(4));
