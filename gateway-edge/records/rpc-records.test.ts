import { ServerCredentials } from "@grpc/grpc-js";
import { addService, createGrpcServer, listen, shutDown } from "../../common/grpc/server.ts";
import { silentLogger } from "../../common/logger.ts";
import type { ControlDeps } from "../../control-plane/services/deps.ts";
import { recordsHandlers } from "../../control-plane/services/records.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import { openTestStore } from "../../control-plane/stores/test-store.ts";
import { RecordsServiceService } from "../../proto/gen/tributary/records/v1/records.ts";
import { fakeClock } from "../access/clock-fixture.ts";
import { connectControlPlane } from "../clients/control-plane.ts";
import { BLOCKED, OWNER, recordsContract } from "./records-contract.ts";
import { createRpcRecords } from "./rpc-records.ts";

recordsContract("the control plane, over a socket and in a real store", async () => {
  const clock = fakeClock();
  const { store, close } = openTestStore();
  await addKeys(store);
  const server = createGrpcServer();
  const deps = { store, clock, logger: silentLogger } as unknown as ControlDeps;
  addService(server, RecordsServiceService, recordsHandlers(deps), silentLogger);
  const port = await listen(server, "127.0.0.1:0", ServerCredentials.createInsecure());
  const control = connectControlPlane(`127.0.0.1:${port}`);
  return {
    records: createRpcRecords(control.records),
    clock,
    async close() {
      control.close();
      await shutDown(server, 1000);
      await close();
    },
  };
});

async function addKeys(store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    for (const { teamId, organizationId, keyId } of [OWNER, BLOCKED]) {
      const isBlocked = teamId === BLOCKED.teamId;
      const times = { createdAt: 1, updatedAt: 1 };
      const block = isBlocked ? { blockedByAdminAt: 1, blockReason: "test" } : {};
      await tx.insert("teams", { id: teamId, name: teamId, nameKey: teamId, organizationId, ...times, ...block });
      const key = { id: keyId, hash: keyId, name: keyId, maskedKey: "sk-...0000", teamId, organizationId };
      await tx.insert("keys", { ...key, createdBy: 1, createdAt: 1 });
    }
  });
}
