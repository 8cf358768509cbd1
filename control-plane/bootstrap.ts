import { newId } from "../common/ids.ts";
import { mintSecret, secretSha256 } from "../common/key-shape.ts";
import { findModelData } from "../common/model-data/model-data.ts";
import { priceMessage } from "../common/pricing.ts";
import type { Model, Provider } from "./domain/records.ts";
import type { ControlDeps } from "./services/deps.ts";
import type { Scope } from "./stores/scopes.ts";
import type { Transaction } from "./stores/store.ts";
import { accountScopes, createAccount, newOrganizationId } from "./writes/accounts.ts";
import { writeAudit } from "./writes/audit.ts";
import { addPrice } from "./writes/catalog.ts";
import { appendChange } from "./writes/feed.ts";

/** The credentials of the first start, shown once. A field is null where the operator chose the value. */
export interface FirstRun {
  adminEmail: string;
  adminPassword: string | null;
  masterKey: string | null;
}

const DONE = "bootstrapped";
const MASTER_KEY_HASH = "master-key-hash";
// 5 USD, so that the first priced call works.
const FIRST_GRANT = 5_000_000_000n;

type Deps = Pick<ControlDeps, "config" | "store" | "clock" | "random" | "secrets" | "passwords">;

/** Names of the models that `bootstrap` is about to create; empty on every later start. */
export async function modelsToCreate({ store }: Pick<Deps, "store">): Promise<readonly string[]> {
  return (await store.get("settings", DONE)) ? [] : ["echo"];
}

/** Creates the first admin, the master key and the echo model, once per store. Returns undefined on every later start. */
export async function bootstrap(deps: Deps): Promise<FirstRun | undefined> {
  if (await deps.store.get("settings", DONE)) return undefined;
  const { config } = deps;
  const password = config.adminPassword ?? deps.random.bytes(15).toString("base64url");
  const masterKey = config.masterKey ?? mintSecret(deps.random);
  const passwordHash = await deps.passwords.hash(password);
  const organizationId = newOrganizationId(deps.store, deps);
  const scopes: Scope[] = ["settings", "catalog", "audit", ...accountScopes(deps.store, organizationId)];
  const isFirst = await deps.store.transaction(scopes, async (tx) => {
    // Two control planes may start on one new database; the second one finds this done.
    if (await tx.get("settings", DONE)) return false;
    const now = deps.clock.now();
    const { user } = await createAccount(tx, deps, {
      email: config.adminEmail,
      name: "Administrator",
      organizationName: "Administration",
      organizationId,
      passwordHash,
      role: "admin",
      grant: FIRST_GRANT,
      // The operator set the address.
      isEmailVerified: true,
    });
    await createEcho(tx, deps, now);
    await tx.put("settings", { id: MASTER_KEY_HASH, value: deps.secrets.keyHash(secretSha256(masterKey)) });
    await tx.put("settings", { id: DONE, value: String(now) });
    await writeAudit(tx, { actorKind: "system", action: "platform.bootstrap", target: String(user.id), requestId: "" }, now);
    return true;
  });
  if (!isFirst) return undefined;
  return {
    adminEmail: config.adminEmail,
    adminPassword: config.adminPassword ? null : password,
    masterKey: config.masterKey ? null : masterKey,
  };
}

/** The hash that identifies the master key. MASTER_KEY, if set, wins over the key of the first start. */
export async function masterKeyOf(deps: Deps): Promise<{ hash: string | undefined; sha256: Buffer | undefined }> {
  if (deps.config.masterKey === undefined) return { hash: (await deps.store.get("settings", MASTER_KEY_HASH))?.value, sha256: undefined };
  const sha256 = secretSha256(deps.config.masterKey);
  return { hash: deps.secrets.keyHash(sha256), sha256 };
}

async function createEcho(tx: Transaction, deps: Deps, now: number): Promise<void> {
  const provider: Provider = { id: newId("prov", deps), name: "echo", nameKey: "echo", kind: "echo", createdAt: now, updatedAt: now };
  const model: Model = {
    id: newId("model", deps),
    name: "echo",
    providerId: provider.id,
    inferenceModelId: "echo",
    type: "chat",
    description: "Repeats the last user message, token by token. For first calls and for tests.",
    contextWindow: 128_000,
    maxOutputTokens: 4096,
    status: "active",
    createdAt: now,
    updatedAt: now,
  };
  await tx.insert("providers", provider);
  await tx.insert("models", model);
  const price = findModelData({ kind: "echo", model: "echo" })?.pricing;
  if (price) await addPrice(tx, model.id, priceMessage(price), now);
  await appendChange(tx, { kind: "catalog", subject: model.id }, now);
}
