import { orElse } from "../../../common/ignore.ts";
import { type BlobStorage, connectCoordinator } from "../../access/clients/coordinator.ts";
import type { EdgeDeps } from "../../deps.ts";
import { storageAnswer } from "../../schemas/platform/storage.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { nodeStorage } from "./training/own-blob.ts";

const LOOK_MS = 2000;
const AWAY = { used: null, limit: null };

/** `GET /api/gw/storage`: what the active organization has stored, and its limits. */
export function storageOperations({ control, config }: EdgeDeps): Operation[] {
  return [
    operation({
      method: "get",
      path: "/api/gw/storage",
      summary: "Show how many bytes of files and blobs the active organization has stored, and its limits",
      tag: "Organizations",
      auth: "user",
      status: 200,
      answer: storageAnswer,
      handler: async (_input, call) => {
        const [files, { organizationId: tenant, nodes }] = await Promise.all([
          control.organizations.getStorage({}, call.read()),
          control.training.findBlob({ blob: "" }, call.read()),
        ]);
        const look = async (place: string, asked: Promise<BlobStorage>) => ({
          place,
          ...(await orElse(asked, AWAY, "it is shown as a place that does not answer")),
        });
        const places = await Promise.all([
          look("coordinator", connectCoordinator(config).storage(tenant, call.read(LOOK_MS))),
          ...nodes.map((node) => look(node.id, nodeStorage(node, tenant))),
        ]);
        const sum = (of: "used" | "limit") => places.reduce((total, place) => total + (place[of] ?? 0), 0);
        return {
          storage: {
            files: { used: Number(files.filesUsed), limit: Number(files.filesLimit) },
            blobs: { used: sum("used"), limit: sum("limit"), places },
          },
        };
      },
    }),
  ];
}
