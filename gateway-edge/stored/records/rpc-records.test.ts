import { ServerCredentials } from "@grpc/grpc-js";
import { addService, createGrpcServer, listen, shutDown } from "../../../common/grpc/server.ts";
import { silentLogger } from "../../../common/logger.ts";
import type { ControlDeps } from "../../../control-plane/services/deps.ts";
import { recordsHandlers } from "../../../control-plane/services/records/service.ts";
import type { Store } from "../../../control-plane/stores/store.ts";
import { openTestStore } from "../../../control-plane/stores/test-store.ts";
import { RecordsServiceService } from "../../../proto/gen/tributary/records/v1/records.ts";
import { connectControlPlane } from "../../access/clients/control-plane.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import { BLOCKED, OWNER, type RecordsUnderTest, recordsContract } from "./records-contract.ts";
import { createRpcRecords } from "./rpc-records.ts";

recordsContract("the control plane, over a socket and in a real store", open);

test("a content that is refused at its beginning is not sent to its end", async () => {
  const { records, close } = await open();
  let sent = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; sent < 400; sent++) yield Buffer.alloc(256 * 1024);
  }
  await expect(records.putContent("team_1", "not/an/id", endless())).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
  expect(sent).toBeLessThan(400);
  await close();
});

test("a reader that stops in the middle of a content ends it, and the next one reads it whole", async () => {
  const { records, close } = await open();
  async function* large(): AsyncGenerator<Uint8Array> {
    for (let piece = 0; piece < 80; piece++) yield Buffer.alloc(256 * 1024, piece);
  }
  await records.putContent("team_1", "file_1", large());
  for await (const _ of (await records.getContent("team_1", "file_1")) ?? []) break;
  let bytes = 0;
  for await (const chunk of (await records.getContent("team_1", "file_1")) ?? []) bytes += chunk.length;
  expect(bytes).toBe(80 * 256 * 1024);
  await close();
});

async function open(): Promise<RecordsUnderTest> {
  const clock = fakeClock();
  const { store, close } = openTestStore();
  await addKeys(store);
  const server = createGrpcServer();
  const deps = { store, clock, config: { filesBytesMax: 1e9 }, logger: silentLogger } as unknown as ControlDeps;
  addService(server, RecordsServiceService, recordsHandlers(deps), { logger: silentLogger });
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
}

async function addKeys(store: Store): Promise<void> {
  await store.transaction("every", async (tx) => {
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
