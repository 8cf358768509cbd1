import type { z } from "zod";
import type { KeyLimits } from "../../../proto/gen/tributary/keys/v1/keys.ts";
import type { EdgeDeps } from "../../deps.ts";
import * as schemas from "../../schemas/platform/keys.ts";
import { type Operation, operation } from "../middleware/operation.ts";
import { maxBudgetOf, periodOf } from "./budgets.ts";
import { presentApiKey, presentList, sent } from "./present.ts";

const tag = "API keys";

export function keyOperations(deps: EdgeDeps): Operation[] {
  return [listKeys(deps), createKey(deps), updateKey(deps), removeKey(deps), rotateKey(deps), transferKey(deps)];
}

const listKeys = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/api-keys",
    summary: "List the API keys of the active organization, without secrets",
    tag,
    auth: "user",
    query: schemas.listKeysQuery,
    status: 200,
    answer: schemas.listKeysAnswer,
    handler: async ({ query }, call) => {
      const { page, pageSize, search, team_id: teamId, status } = query;
      const { apiKeys, meta } = await control.keys.listKeys({ page: { page, pageSize }, search, teamId, status }, call.read());
      return presentList(apiKeys, meta, presentApiKey);
    },
  });

const createKey = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/gw/api-keys",
    summary: "Create an API key for a team; the secret is only in this response. With sha256: import a key of another gateway (admins)",
    tag,
    auth: "user",
    body: schemas.createKeyBody,
    status: 201,
    answer: schemas.createdKeyAnswer,
    handler: async ({ body }, call) => {
      const request = { name: body.name, teamId: body.team_id, limits: { ...toLimits(body), clear: [] }, ...importOf(body) };
      const { apiKey, key } = await control.keys.createKey(request, call.write());
      return { apiKey: presentApiKey(sent(apiKey, "apiKey")), key };
    },
  });

const updateKey = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/api-keys/update",
    summary: "Rename an API key or change its limits; null removes a limit",
    tag,
    auth: "user",
    body: schemas.updateKeyBody,
    status: 200,
    answer: schemas.keyAnswer,
    handler: async ({ body }, call) => {
      const request = { reference: referenceOf(body), name: body.name, limits: toLimits(body) };
      const { apiKey } = await control.keys.updateKey(request, call.write());
      return { apiKey: presentApiKey(sent(apiKey, "apiKey")) };
    },
  });

const removeKey = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/api-keys/remove",
    summary: "Revoke an API key; every edge refuses it within a second",
    tag,
    auth: "user",
    body: schemas.removeKeyBody,
    status: 200,
    answer: schemas.removedKeyAnswer,
    handler: async ({ body }, call) => {
      const { apiKey } = await control.keys.removeKey({ reference: referenceOf(body) }, call.write());
      return { apiKey: presentApiKey(sent(apiKey, "apiKey")), removed: true as const };
    },
  });

const rotateKey = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/api-keys/rotate",
    summary: "Rotate an API key: a new secret, with the old one valid for graceSeconds; unblocks a key whose creator left the team",
    tag,
    auth: "user",
    body: schemas.rotateKeyBody,
    status: 200,
    answer: schemas.createdKeyAnswer,
    handler: async ({ body }, call) => {
      const request = { reference: referenceOf(body), graceSeconds: body.graceSeconds };
      const { apiKey, key } = await control.keys.rotateKey(request, call.write());
      return { apiKey: presentApiKey(sent(apiKey, "apiKey")), key };
    },
  });

const transferKey = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/api-keys/transfer",
    summary: "Move an API key to another team of its organization; its secret and limits stay, and the limits of that team apply",
    tag,
    auth: "user",
    body: schemas.transferKeyBody,
    status: 200,
    answer: schemas.keyAnswer,
    handler: async ({ body }, call) => {
      const { apiKey } = await control.keys.transferKey({ reference: referenceOf(body), teamId: body.team_id }, call.write());
      return { apiKey: presentApiKey(sent(apiKey, "apiKey")) };
    },
  });

function importOf({ sha256, maskedKey, spend }: z.output<typeof schemas.createKeyBody>) {
  return {
    secretSha256: sha256 === undefined ? undefined : Buffer.from(sha256, "hex"),
    maskedKey,
    spend: spend === undefined ? undefined : BigInt(spend),
  };
}

function referenceOf(body: { token?: string | undefined; apiKey?: string | undefined }): string {
  return body.token ?? sent(body.apiKey, "the key reference");
}

const LIMIT_NAMES = [
  "models",
  "guardrails",
  "scopes",
  "rpm",
  "tpm",
  "maxParallelRequests",
  "maxBudget",
  "expiresAt",
  "logContent",
  "logContentDays",
] as const;

function toLimits(body: schemas.KeyLimitFields): KeyLimits {
  const maxBudget = maxBudgetOf(body);
  return {
    models: body.models ? { names: body.models } : undefined,
    guardrails: body.guardrails ? { names: body.guardrails } : undefined,
    scopes: body.scopes ? { names: body.scopes } : undefined,
    rpm: body.rpm ?? undefined,
    tpm: body.tpm ?? undefined,
    maxParallelRequests: body.maxParallelRequests ?? undefined,
    maxBudget: maxBudget ?? undefined,
    budgetPeriod: periodOf(body.budgetPeriod),
    expiresAt: body.expiresAt ? new Date(body.expiresAt) : undefined,
    logContent: body.logContent ?? undefined,
    logContentDays: body.logContentDays ?? undefined,
    clear: LIMIT_NAMES.filter((name) => (name === "maxBudget" ? maxBudget : body[name]) === null),
  };
}
