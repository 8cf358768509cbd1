import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { newId } from "../../../common/ids.ts";
import { maskKey, mintSecret, secretSha256 } from "../../../common/key-shape.ts";
import {
  CreateKeyResponse,
  type KeyLimits,
  type KeysServiceService,
  RemoveKeyResponse,
  RotateKeyResponse,
  UpdateKeyResponse,
} from "../../../proto/gen/tributary/keys/v1/keys.ts";
import type { Budget } from "../../domain/budget-records.ts";
import { withBudget } from "../../domain/budgets.ts";
import { isDisabled } from "../../domain/key-state.ts";
import { manages } from "../../domain/permissions.ts";
import type { ApiKey, Team } from "../../domain/records.ts";
import { readPage } from "../../stores/page.ts";
import { organizationScope, type Scope } from "../../stores/scopes.ts";
import type { Reader, Transaction } from "../../stores/store.ts";
import { followBudget } from "../../writes/budgets.ts";
import { appendChange } from "../../writes/feed.ts";
import { deleteKey, keyFacts } from "../../writes/keys.ts";
import { notify } from "../../writes/notices.ts";
import { type Actor, requireActor, requireAdmin } from "../actor.ts";
import { checkContentDays } from "../contents/content-days.ts";
import type { ControlDeps } from "../deps.ts";
import { keyMessage, keyStatus, metaOf, pageOf } from "../messages.ts";
import { requireTeam, teamScopes, visibleTeamIds } from "../teams/access.ts";
import { write } from "../write.ts";
import { findKey, requireKey, requireRoomForKey } from "./find-key.ts";
import { mintedKey, refuseKnown } from "./minted-key.ts";
import { transferKey } from "./transfer-key.ts";

const GRACE_SECONDS_MAX = 7 * 24 * 3600;

type Handlers = ServiceHandlers<typeof KeysServiceService>;

export function keysHandlers(deps: ControlDeps): Handlers {
  return {
    listKeys: listKeys(deps),
    createKey: createKey(deps),
    updateKey: updateKey(deps),
    removeKey: removeKey(deps),
    rotateKey: rotateKey(deps),
    transferKey: transferKey(deps),
  };
}

const listKeys =
  (deps: ControlDeps): Handlers["listKeys"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    await deps.edges.caughtUp(actor.organizationId);
    const page = pageOf(request.page);
    const now = deps.clock.now();
    const where = await keyFilter(deps.store, actor, request, now);
    const { records, total } = await readPage(deps.store, "keys", {
      ...page,
      range: { index: "byOrganization", equals: [actor.organizationId], reverse: true },
      where,
    });
    return { apiKeys: await Promise.all(records.map((key) => keyMessage(deps.store, key, now))), meta: metaOf(page, total) };
  };

const createKey =
  (deps: ControlDeps): Handlers["createKey"] =>
  async (request, context) => {
    const actor = request.secretSha256 ? await requireAdmin(deps, context) : await requireActor(deps, context);
    const minted = mintedKey(deps, request);
    return write(
      deps,
      context,
      { actor, codec: CreateKeyResponse, scopes: ["identity", ...(await teamScopes(deps.store, request.teamId))] },
      async ({ tx, now, audit }) => {
        const { team } = await requireTeam(tx, actor, request.teamId);
        await checkContentSetting(tx, actor, { organizationId: team.organizationId, limits: request.limits });
        await requireRoomForKey(tx, team.id);
        const key: ApiKey = withLimits(
          {
            id: newId("key", deps),
            hash: minted.hash,
            name: request.name,
            maskedKey: minted.maskedKey,
            teamId: team.id,
            organizationId: team.organizationId,
            createdBy: actor.user.id,
            createdAt: now,
          },
          request.limits,
        );
        if (request.secretSha256) await refuseKnown(tx, key.hash);
        await tx.insert("keys", key);
        if (request.secretSha256 && request.spend) {
          await tx.put("keyUses", { id: key.id, organizationId: key.organizationId, spend: request.spend });
        }
        await followKeyBudget(tx, { before: {}, after: key }, now);
        await notify(tx, { organizationId: key.organizationId, type: "key.created", data: { apiKey: keyFacts(key) } }, now);
        await audit({
          action: "key.create",
          target: key.id,
          organizationId: key.organizationId,
          details: { name: key.name, teamId: team.id, ...contentSettings(key), ...(request.secretSha256 && { imported: true }) },
        });
        return { apiKey: await keyMessage(tx, key, now), key: minted.secret };
      },
    );
  };

const updateKey =
  (deps: ControlDeps): Handlers["updateKey"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const found = await findKey(deps, deps.store, request.reference);
    // Beside the key, the use of its budget changes, and settlements in the organization's slot add to that.
    const scopes: Scope[] = ["identity", ...(found ? [organizationScope(deps.store, found.organizationId)] : [])];
    return write(deps, context, { actor, codec: UpdateKeyResponse, scopes }, async ({ tx, now, audit }) => {
      const key = await requireKey(deps, tx, actor, request.reference);
      await checkContentSetting(tx, actor, { organizationId: key.organizationId, limits: request.limits });
      const updated = withLimits({ ...key, name: request.name ?? key.name }, request.limits);
      await tx.put("keys", updated);
      await followKeyBudget(tx, { before: key, after: updated }, now);
      await appendChange(tx, { kind: "key", subject: key.id }, now);
      await audit({
        action: "key.update",
        target: key.id,
        organizationId: key.organizationId,
        details: { name: updated.name, ...contentSettings(updated) },
      });
      return { apiKey: await keyMessage(tx, updated, now) };
    });
  };

const removeKey =
  (deps: ControlDeps): Handlers["removeKey"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(deps, context, { actor, codec: RemoveKeyResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const key = await requireKey(deps, tx, actor, request.reference);
      const apiKey = await keyMessage(tx, key, now);
      await deleteKey(tx, key, now);
      await audit({ action: "key.remove", target: key.id, organizationId: key.organizationId, details: { name: key.name } });
      return { apiKey };
    });
  };

const rotateKey =
  (deps: ControlDeps): Handlers["rotateKey"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const secret = mintSecret(deps.random);
    const graceMs = Math.min(Math.max(request.graceSeconds, 0), GRACE_SECONDS_MAX) * 1000;
    return write(deps, context, { actor, codec: RotateKeyResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const key = await requireKey(deps, tx, actor, request.reference);
      const { previousHash: _hash, previousHashUntil: _until, disabledAt: _left, disabledWithUserAt: _user, ...rest } = key;
      // The old secret of a disabled key is known to a user who left the team or has no access, so it gets no grace period.
      const hasGrace = graceMs > 0 && !isDisabled(key);
      const rotated: ApiKey = {
        ...rest,
        hash: deps.secrets.keyHash(secretSha256(secret)),
        maskedKey: maskKey(secret),
        rotatedBy: actor.user.id,
        ...(hasGrace ? { previousHash: key.hash, previousHashUntil: now + graceMs } : {}),
      };
      await tx.put("keys", rotated);
      await appendChange(tx, { kind: "key", subject: key.id }, now);
      await audit({
        action: "key.rotate",
        target: key.id,
        organizationId: key.organizationId,
        details: { graceSeconds: hasGrace ? graceMs / 1000 : 0 },
      });
      return { apiKey: await keyMessage(tx, rotated, now), key: secret };
    });
  };

async function keyFilter(
  reader: Reader,
  actor: Actor,
  request: { search?: string | undefined; teamId?: string | undefined; status?: string | undefined },
  now: number,
): Promise<(key: ApiKey) => boolean> {
  if (request.teamId !== undefined) await requireTeam(reader, actor, request.teamId);
  const visible = await visibleTeamIds(reader, actor);
  const search = request.search?.toLowerCase();
  const teams = new Map<string, Team>();
  if (request.status !== undefined) {
    for await (const team of reader.scan("teams", { index: "byOrganization", equals: [actor.organizationId] })) teams.set(team.id, team);
  }
  return (key) =>
    (visible === "all" || visible.has(key.teamId)) &&
    (request.teamId === undefined || key.teamId === request.teamId) &&
    (request.status === undefined || keyStatus(key, teams.get(key.teamId), now) === request.status) &&
    (search === undefined || key.name.toLowerCase().includes(search) || key.maskedKey.toLowerCase().includes(search) || key.id === search);
}

async function followKeyBudget(tx: Transaction, { before, after }: { before: Budget; after: ApiKey }, now: number): Promise<void> {
  await followBudget(tx, { kind: "key", id: after.id, organizationIds: [after.organizationId] }, { before, after }, now);
}

function withLimits(key: ApiKey, limits: KeyLimits | undefined): ApiKey {
  if (!limits) return key;
  const { rpm, tpm, maxParallelRequests, logContent, logContentDays } = limits;
  checkContentDays(logContentDays);
  const lists = { models: limits.models?.names, guardrails: limits.guardrails?.names, scopes: limits.scopes?.names };
  const given = { ...lists, rpm, tpm, maxParallelRequests, expiresAt: limits.expiresAt?.getTime(), logContent, logContentDays };
  const clear = new Set(limits.clear);
  const budget = { maxBudget: limits.maxBudget, period: limits.budgetPeriod, clear: clear.has("maxBudget") };
  const changed: ApiKey = withBudget({ ...key, ...defined(given) }, budget);
  return Object.fromEntries(Object.entries(changed).filter(([name]) => !CLEARABLE.has(name) || !clear.has(name))) as unknown as ApiKey;
}

const CONTENT_SETTINGS = ["logContent", "logContentDays"] as const;
const CLEARABLE: ReadonlySet<string> = new Set([
  "models",
  "guardrails",
  "scopes",
  "rpm",
  "tpm",
  "maxParallelRequests",
  "expiresAt",
  ...CONTENT_SETTINGS,
]);

/** What is stored of prompts is not for every creator of a key to decide. */
async function checkContentSetting(reader: Reader, actor: Actor, { organizationId, limits }: ContentChange): Promise<void> {
  if (!limits || !CONTENT_SETTINGS.some((name) => limits[name] !== undefined || limits.clear.includes(name))) return;
  const member = await reader.get("organizationMembers", `${organizationId}/${actor.user.id}`);
  if (!manages(member?.role)) throw new AppError("FORBIDDEN", "Only an owner or admin of the organization may change logContent of a key.");
}

interface ContentChange {
  readonly organizationId: string;
  readonly limits: KeyLimits | undefined;
}

const contentSettings = ({ logContent, logContentDays }: ApiKey) => defined({ logContent, logContentDays });
