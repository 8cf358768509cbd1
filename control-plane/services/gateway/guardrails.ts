import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { GUARDRAIL_KINDS } from "../../../common/guardrails/kinds.ts";
import { toJson } from "../../../common/json.ts";
import {
  CreateGuardrailResponse,
  DeleteGuardrailResponse,
  type GatewayServiceService,
  type Guardrail,
  OrderGuardrailsResponse,
  UpdateGuardrailResponse,
} from "../../../proto/gen/tributary/gateway/v1/gateway.ts";
import { type GuardrailStage, guardrailSetting, type StoredGuardrail } from "../../domain/gateway-settings.ts";
import { ConfigIssues, locate } from "../../gateway-config/located.ts";
import { readGuardrails } from "../../gateway-config/read-guardrails.ts";
import type { Transaction } from "../../stores/store.ts";
import { requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { type WriteScope, write } from "../write.ts";
import { isOfFile, storedSettings } from "./merged-settings.ts";
import { putSetting } from "./put-setting.ts";

type Handlers = ServiceHandlers<typeof GatewayServiceService>;
type GuardrailHandlers = Pick<Handlers, "listGuardrails" | "createGuardrail" | "updateGuardrail" | "deleteGuardrail" | "orderGuardrails">;

const GUARDRAILS_MAX = 200;
/** Of one guardrail, and of all stored ones: edges load them in one message with the rest of the catalog. */
const SETTINGS_BYTES_MAX = 64 * 1024;
const ALL_SETTINGS_BYTES_MAX = 1024 * 1024;

export function guardrailHandlers(deps: ControlDeps): GuardrailHandlers {
  return {
    async listGuardrails(_request, context) {
      await requireAdmin(deps, context);
      const { guardrails } = await storedSettings(deps.store);
      const own = guardrails.filter(({ name }) => !isOfFile(deps.gateway.current.settings, name));
      return { guardrails: [...fileGuardrails(deps), ...own.map(guardrailMessage)] };
    },
    createGuardrail: createGuardrail(deps),
    updateGuardrail: updateGuardrail(deps),
    deleteGuardrail: deleteGuardrail(deps),
    orderGuardrails: orderGuardrails(deps),
  };
}

const createGuardrail =
  (deps: ControlDeps): Handlers["createGuardrail"] =>
  async (request, context) => {
    const actor = await requireAdmin(deps, context);
    return write(deps, context, { actor, codec: CreateGuardrailResponse, scopes: "catalog" }, async (scope) => {
      refuseOfFile(deps, request.name);
      const { guardrails } = await storedSettings(scope.tx);
      if (guardrails.some(({ name }) => name === request.name)) refuse("name", "is taken", "A guardrail with this name exists already.");
      if (guardrails.length >= GUARDRAILS_MAX) throw new AppError("VALIDATION_ERROR", `There are ${GUARDRAILS_MAX} guardrails already.`);
      const guardrail = checked({
        ...request,
        stage: stageOf(request.kind, request.stage),
        settings: JSON.parse(request.settings) as Record<string, unknown>,
        position: (guardrails.at(-1)?.position ?? 0) + 1,
      });
      requireRoom(guardrails, guardrail);
      await putGuardrail(scope, guardrail);
      await scope.audit({ action: "guardrail.create", target: guardrail.name, details: shown(guardrail) });
      return { guardrail: guardrailMessage(guardrail) };
    });
  };

const updateGuardrail =
  (deps: ControlDeps): Handlers["updateGuardrail"] =>
  async (request, context) => {
    const actor = await requireAdmin(deps, context);
    return write(deps, context, { actor, codec: UpdateGuardrailResponse, scopes: "catalog" }, async (scope) => {
      refuseOfFile(deps, request.name);
      const before = (await findStored(scope.tx, request.name)) ?? missing();
      const guardrail = checked({
        ...before,
        stage: stageOf(before.kind, request.stage ?? before.stage),
        byDefault: request.byDefault ?? before.byDefault,
        enabled: request.enabled ?? before.enabled,
        settings: request.settings === undefined ? before.settings : (JSON.parse(request.settings) as Record<string, unknown>),
      });
      if (request.settings !== undefined) requireRoom((await storedSettings(scope.tx)).guardrails, guardrail);
      await putGuardrail(scope, guardrail);
      await scope.audit({ action: "guardrail.update", target: guardrail.name, details: shown(guardrail) });
      return { guardrail: guardrailMessage(guardrail) };
    });
  };

const deleteGuardrail =
  (deps: ControlDeps): Handlers["deleteGuardrail"] =>
  async ({ name }, context) => {
    const actor = await requireAdmin(deps, context);
    return write(deps, context, { actor, codec: DeleteGuardrailResponse, scopes: "catalog" }, async (scope) => {
      const before = await findStored(scope.tx, name);
      // One that the file's of the same name hides can be deleted.
      if (!before) {
        refuseOfFile(deps, name);
        return missing();
      }
      await putSetting(scope, { id: guardrailSetting(name), value: undefined });
      await scope.audit({ action: "guardrail.delete", target: name, details: shown(before) });
      return {};
    });
  };

const orderGuardrails =
  (deps: ControlDeps): Handlers["orderGuardrails"] =>
  async ({ names }, context) => {
    const actor = await requireAdmin(deps, context);
    return write(deps, context, { actor, codec: OrderGuardrailsResponse, scopes: "catalog" }, async (scope) => {
      const { guardrails } = await storedSettings(scope.tx);
      const listed = guardrails.filter(({ name }) => !isOfFile(deps.gateway.current.settings, name));
      const stored = new Map(listed.map((guardrail) => [guardrail.name, guardrail]));
      const ordered = names.flatMap((name, index) => {
        const guardrail = stored.get(name);
        return guardrail ? [{ ...guardrail, position: index + 1 }] : [];
      });
      if (new Set(names).size !== names.length || ordered.length !== names.length || ordered.length !== stored.size) {
        refuse("names", "must be all guardrails that are not of the configuration file, each once", "The list is not complete.");
      }
      for (const guardrail of ordered) await putGuardrail(scope, guardrail);
      await scope.audit({ action: "guardrail.order", target: "all", details: { names: names.join(", ") } });
      return { guardrails: [...fileGuardrails(deps), ...ordered.map(guardrailMessage)] };
    });
  };

function putGuardrail(scope: WriteScope, guardrail: StoredGuardrail): Promise<void> {
  return putSetting(scope, { id: guardrailSetting(guardrail.name), value: guardrail });
}

async function findStored(tx: Transaction, name: string): Promise<StoredGuardrail | undefined> {
  const record = await tx.get("gatewaySettings", guardrailSetting(name));
  return record && (JSON.parse(record.value) as StoredGuardrail);
}

function missing(): never {
  throw new AppError("NOT_FOUND", "There is no such guardrail.");
}

/** Refuses settings that are too large, alone or with all others. Those that shrink are always taken. */
function requireRoom(stored: readonly StoredGuardrail[], { name, settings }: StoredGuardrail): void {
  const bytes = bytesOf(settings);
  if (bytes > SETTINGS_BYTES_MAX) {
    refuse("settings", `must have at most ${SETTINGS_BYTES_MAX} bytes as JSON`, `The settings of the guardrail have ${bytes} bytes.`);
  }
  const before = stored.reduce((sum, guardrail) => sum + bytesOf(guardrail.settings), 0);
  const own = stored.find((guardrail) => guardrail.name === name);
  const after = before - (own ? bytesOf(own.settings) : 0) + bytes;
  if (after > ALL_SETTINGS_BYTES_MAX && after > before) {
    const message = `must have at most ${ALL_SETTINGS_BYTES_MAX} bytes as JSON with those of all stored guardrails`;
    refuse("settings", message, `The settings of all stored guardrails would have ${after} bytes.`);
  }
}

function bytesOf(settings: StoredGuardrail["settings"]): number {
  return Buffer.byteLength(toJson(settings));
}

function refuseOfFile({ gateway: { current } }: ControlDeps, name: string): void {
  if (!isOfFile(current.settings, name)) return;
  throw new AppError("VALIDATION_ERROR", `The guardrail ${name} comes from the configuration file. Change it there.`, {
    details: [{ path: "body.name", message: "is the name of a guardrail of the configuration file" }],
  });
}

/** The stage that the kind always has, or the chosen one. */
function stageOf(kind: string, chosen: string): GuardrailStage {
  return (Object.hasOwn(GUARDRAIL_KINDS, kind) ? GUARDRAIL_KINDS[kind]?.stage : undefined) ?? (chosen as GuardrailStage);
}

/** Checks it as the file's are checked, so that an edge never gets one that it cannot read. */
function checked({ name, kind, stage, byDefault, enabled, settings, position }: StoredGuardrail): StoredGuardrail {
  if (!Object.hasOwn(GUARDRAIL_KINDS, kind)) {
    refuse("kind", `must be one of ${Object.keys(GUARDRAIL_KINDS).join(", ")}`, `There are no guardrails of the kind ${kind}.`);
  }
  const known = Object.keys(GUARDRAIL_KINDS[kind]?.settings ?? {});
  const unknown = Object.keys(settings).find((setting) => !known.includes(setting));
  if (unknown !== undefined) {
    refuse(
      `settings.${unknown}`,
      `is not a setting of ${kind}; its settings are ${known.join(", ")}`,
      `The setting ${unknown} is not known.`,
    );
  }
  const issues = new ConfigIssues();
  const params = locate({ ...settings, guardrail: kind }, "body.settings");
  const entries = new Map([
    ["guardrail_name", { keyAt: params.at, node: locate(name, "body.name") }],
    ["litellm_params", { keyAt: params.at, node: params }],
  ]);
  const list = { kind: "list", at: params.at, items: [{ kind: "map", at: params.at, entries }] } as const;
  readGuardrails(list, () => settings, issues);
  const details = issues.found.map(({ at, message }) => ({ path: at.file, message: message.replace(/^guardrail \S+: (\w+ )?/, "") }));
  if (details.length > 0) throw new AppError("VALIDATION_ERROR", "The guardrail's settings are not valid.", { details });
  return { name, kind, stage, byDefault, enabled, settings, position };
}

function refuse(field: string, message: string, sentence: string): never {
  const code = message === "is taken" ? "ALREADY_EXISTS" : "VALIDATION_ERROR";
  throw new AppError(code, sentence, { details: [{ path: `body.${field}`, message }] });
}

/** What the audit log has of it: not the words and patterns, which can be what is to stay secret. */
function shown({ kind, stage, byDefault, enabled }: StoredGuardrail) {
  return { kind, stage, byDefault, enabled };
}

function guardrailMessage({ name, kind, stage, byDefault, enabled, settings }: StoredGuardrail): Guardrail {
  return { name, kind, stage, byDefault, enabled, settings: toJson(settings), source: "catalog", file: undefined };
}

function fileGuardrails({ gateway: { current } }: ControlDeps): Guardrail[] {
  return (current.settings.guardrails ?? []).map((entry): Guardrail => {
    const { guardrail, mode = "pre_call", default_on: byDefault, ...settings } = entry["litellm_params"] as Record<string, unknown>;
    const [kind, modes] = [String(guardrail), [mode].flat()];
    const post = modes.includes("post_call");
    const configured = !post ? "pre" : modes.length > 1 ? "both" : "post";
    return {
      name: String(entry["guardrail_name"]),
      kind,
      stage: stageOf(kind, configured),
      byDefault: /^true$/i.test(String(byDefault)),
      enabled: true,
      settings: toJson(settings),
      source: "configuration",
      file: current.files[0],
    };
  });
}
