import { DIGITS_ACCURACY } from "../common/built-in-models.ts";
import type { ControlDeps } from "./services/deps.ts";
import type { Transaction } from "./stores/store.ts";
import { publishVersion } from "./writes/trained-models.ts";

const DONE = "built-in-models";

type Deps = Pick<ControlDeps, "config" | "store" | "clock" | "random">;

/**
 * Publishes the models that trainer nodes train at start, visible to every organization, once per store, so that a trained model can be
 * called without training one. A name that is taken stays with its model.
 */
export async function publishBuiltInModels(deps: Deps): Promise<void> {
  if (!deps.config.builtInModels || (await deps.store.get("settings", DONE))) return;
  await deps.store.transaction(["settings", "catalog"], async (tx) => {
    // Two control planes may start on one database; the second one finds this done.
    if (await tx.get("settings", DONE)) return;
    const now = deps.clock.now();
    await tx.put("settings", { id: DONE, value: String(now) });
    if (!(await isTaken(tx, "digits"))) await publishDigits(tx, deps, now);
  });
}

async function publishDigits(tx: Transaction, deps: Deps, now: number): Promise<void> {
  const admin = await tx.find("users", "byEmail", [deps.config.adminEmail]);
  if (!admin) return;
  const version = {
    organizationId: admin.organizationId,
    name: "digits",
    type: "moderation",
    description:
      "Classifies handwritten digits. Input: 64 numbers from 0 to 1, an image of 8 x 8 row by row, as JSON text. For first calls and for tests.",
    visibility: "public",
    allowedOrganizationIds: [],
    content: {
      task: JSON.stringify({ task: "softmax" }),
      builtin: "digits",
      lineage: JSON.stringify({ dataset: "digits", rows: 1437, accuracy: DIGITS_ACCURACY }),
    },
    // 0.10 USD per million tokens; a token is a byte.
    pricing: { input: 100_000_000n, output: 100_000_000n },
  } as const;
  await publishVersion(tx, deps, { known: undefined, version }, now);
}

async function isTaken(tx: Transaction, name: string): Promise<boolean> {
  const found = (await tx.find("models", "byName", [name])) ?? (await tx.find("trainedModels", "byOpenName", [name]));
  return found !== undefined;
}
