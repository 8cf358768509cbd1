import { z } from "zod";
import type { EdgeDeps } from "../../deps.ts";
import type { OperationDescription } from "../../schemas/operation-description.ts";
import type { Operation } from "../middleware/operation.ts";
import { adminOperations } from "./admin/admin.ts";
import { adminAuditOperations } from "./admin/admin-audit.ts";
import { adminCatalogOperations } from "./admin/admin-catalog.ts";
import { adminLedgerOperations } from "./admin/admin-ledger.ts";
import { adminOrganizationOperations } from "./admin/admin-organizations.ts";
import { adminSystemOperations } from "./admin/admin-system.ts";
import { alertOperations } from "./alerts.ts";
import { authOperations } from "./auth.ts";
import { billingOperations } from "./billing.ts";
import { adminCatalogLists, catalogOperations } from "./catalog.ts";
import { contentOperations } from "./contents.ts";
import { emailVerificationOperations } from "./email-verification.ts";
import { invitationOperations } from "./invitations.ts";
import { keyOperations } from "./keys.ts";
import { mcpServerOperations } from "./mcp-servers.ts";
import { organizationOperations } from "./organizations.ts";
import { receiptOperations } from "./receipts.ts";
import { sessionOperations } from "./sessions.ts";
import { storageOperations } from "./storage.ts";
import { teamOperations } from "./teams.ts";
import { totpOperations } from "./totp.ts";
import { usageOperations } from "./usage.ts";
import { webhookOperations } from "./webhooks.ts";

/** Every /api operation of the platform, in the order of the documentation. */
export function platformOperations(deps: EdgeDeps): Operation[] {
  return [
    ...authOperations(deps),
    ...emailVerificationOperations(deps),
    ...sessionOperations(deps),
    ...totpOperations(deps),
    ...organizationOperations(deps),
    ...storageOperations(deps),
    ...teamOperations(deps),
    ...invitationOperations(deps),
    ...keyOperations(deps),
    ...billingOperations(deps),
    ...usageOperations(deps),
    ...contentOperations(deps),
    ...webhookOperations(deps),
    ...alertOperations(deps),
    ...mcpServerOperations(deps),
    ...receiptOperations(deps),
    ...catalogOperations(deps),
    ...adminOperations(deps),
    ...adminAuditOperations(deps),
    ...adminOrganizationOperations(deps),
    ...adminLedgerOperations(deps),
    ...adminSystemOperations(deps),
    ...adminCatalogLists(deps),
    ...adminCatalogOperations(deps),
  ];
}

/** The OpenAPI entry of POST /api/gw/messages, which the inference routes serve because it is a priced call. */
export const messagesDescription: OperationDescription = {
  method: "post",
  path: "/api/gw/messages",
  summary: "Create a chat completion, billed to the API key in the body; streamed if `stream` is true",
  tags: ["Chat"],
  auth: "user",
  body: z.looseObject({
    model: z.string(),
    messages: z.array(z.looseObject({ role: z.string() })),
    apiKey: z.string(),
    stream: z.boolean().optional(),
  }),
  responses: { 200: { description: "The completion in OpenAI's format.", schema: z.looseObject({ id: z.string() }) } },
};
