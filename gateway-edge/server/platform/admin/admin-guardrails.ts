import { AppError } from "../../../../common/errors.ts";
import { toJson } from "../../../../common/json.ts";
import { checkGuardrail, tryGuardrail } from "../../../calls/guardrails/try-guardrail.ts";
import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/guardrails.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { sent } from "../present.ts";
import type { GatewayState } from "./admin-gateway.ts";
import { presentGuardrail } from "./present-gateway.ts";

const tag = "Admin";
const auth = "admin";

/** Stored guardrails. The edge that answers applies a change from its next call on, the others within a second. */
export function adminGuardrailOperations(deps: EdgeDeps, gateway: GatewayState): Operation[] {
  return [
    createGuardrail(deps, gateway),
    orderGuardrails(deps, gateway),
    tryOperation(deps),
    updateGuardrail(deps, gateway),
    deleteGuardrail(deps, gateway),
  ];
}

const createGuardrail = ({ control }: EdgeDeps, { refreshSettings }: GatewayState) =>
  operation({
    method: "post",
    path: "/api/admin/guardrails",
    summary: "Create a guardrail, with settings of at most 64 KiB (1 MiB for all); every edge applies it within a second",
    tag,
    auth,
    adminFirst: true,
    body: schemas.createGuardrailBody,
    status: 201,
    answer: schemas.guardrailAnswer,
    handler: async ({ body }, call) => {
      checkGuardrail(body);
      const { guardrail } = await control.gateway.createGuardrail({ ...body, settings: toJson(body.settings) }, call.write());
      await refreshSettings();
      return { guardrail: presentGuardrail(sent(guardrail, "guardrail")) };
    },
  });

const updateGuardrail = ({ control }: EdgeDeps, { refreshSettings }: GatewayState) =>
  operation({
    method: "patch",
    path: "/api/admin/guardrails/:name",
    summary: "Update a guardrail, or switch it off; those of the configuration file are changed there",
    tag,
    auth,
    params: schemas.guardrailParams,
    body: schemas.updateGuardrailBody,
    status: 200,
    answer: schemas.guardrailAnswer,
    handler: async ({ params: { name }, body }, call) => {
      const settings = body.settings === undefined ? undefined : toJson(body.settings);
      if (body.settings !== undefined) {
        const { guardrails } = await control.gateway.listGuardrails({}, call.read());
        const before = guardrails.find((guardrail) => guardrail.name === name);
        if (before) checkGuardrail({ kind: before.kind, settings: body.settings });
      }
      const { guardrail } = await control.gateway.updateGuardrail({ ...body, name, settings }, call.write());
      await refreshSettings();
      return { guardrail: presentGuardrail(sent(guardrail, "guardrail")) };
    },
  });

const deleteGuardrail = ({ control }: EdgeDeps, { refreshSettings }: GatewayState) =>
  operation({
    method: "delete",
    path: "/api/admin/guardrails/:name",
    summary: "Delete a guardrail; calls of keys, teams and requests that name it are refused from then on",
    tag,
    auth,
    params: schemas.guardrailParams,
    status: 200,
    answer: schemas.deletedGuardrailAnswer,
    handler: async ({ params: { name } }, call) => {
      await control.gateway.deleteGuardrail({ name }, call.write());
      await refreshSettings();
      return { deleted: true as const, name };
    },
  });

const orderGuardrails = ({ control }: EdgeDeps, { refreshSettings }: GatewayState) =>
  operation({
    method: "put",
    path: "/api/admin/guardrails/order",
    summary: "Set the order of all guardrails that are not of the configuration file; they are applied after those of the file",
    tag,
    auth,
    body: schemas.orderGuardrailsBody,
    status: 200,
    answer: schemas.orderGuardrailsAnswer,
    handler: async ({ body }, call) => {
      const { guardrails } = await control.gateway.orderGuardrails(body, call.write());
      await refreshSettings();
      return { data: guardrails.map(presentGuardrail) };
    },
  });

const tryOperation = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/admin/guardrails/try",
    summary: "Show what a guardrail decides about a text; nothing is called, stored or counted",
    tag,
    auth,
    body: schemas.tryGuardrailBody,
    status: 200,
    answer: schemas.tryGuardrailAnswer,
    handler: async ({ body: { name, kind, settings, ...rest } }, call) => {
      const { guardrails } = await control.gateway.listGuardrails({}, call.read());
      if (kind !== undefined && settings !== undefined) return tryGuardrail({ kind, settings }, rest);
      const known = guardrails.find((guardrail) => guardrail.name === name);
      if (!known) {
        const message = name === undefined ? "or kind and settings are required" : "is not known";
        throw new AppError("VALIDATION_ERROR", "Which guardrail is to be tried?", { details: [{ path: "body.name", message }] });
      }
      return tryGuardrail({ kind: known.kind, settings: JSON.parse(known.settings) as Record<string, unknown> }, rest);
    },
  });
