import { z } from "zod";
import type { OperationDescription } from "../../schemas/operation-description.ts";
import { createTokenBody, logoutAnswer } from "../../schemas/platform/auth.ts";

// What the edge serves beside the tables of operations: told in /openapi.json like everything else.

const html = (description: string) => ({ description, contentType: "text/html", schema: z.string() });

const cookie = { tags: ["Console"], auth: "none" } as const;
const cookieAnswer = { description: "Done; the cookie is set.", schema: z.object({ expiresAt: z.date().nullable() }) };

/** Only pages of the edge's own origin may ask for these. */
const consoleDescriptions: readonly OperationDescription[] = [
  {
    ...cookie,
    method: "post",
    path: "/api/auth/session",
    summary: "Open a session in a cookie that no script can read, with e-mail and password or with a token; same origin only",
    body: createTokenBody.partial(),
    responses: { 200: cookieAnswer },
  },
  {
    ...cookie,
    method: "delete",
    path: "/api/auth/session",
    summary: "End the session of the cookie; same origin only",
    responses: { 200: { description: "Done; the cookie is gone.", schema: logoutAnswer } },
  },
  {
    ...cookie,
    method: "post",
    path: "/api/auth/session/refresh",
    summary: "Lengthen the session of the cookie; same origin only",
    responses: { 200: cookieAnswer },
  },
  {
    ...cookie,
    method: "get",
    path: "/fallback/login",
    summary: "A log-in that needs no script; who is logged in is told the balance",
    responses: { 200: html("A page.") },
  },
  {
    ...cookie,
    method: "post",
    path: "/fallback/login",
    summary: "Log in with the form; same origin only",
    body: createTokenBody,
    bodyType: "application/x-www-form-urlencoded",
    responses: { 303: { description: "Logged in; back to the page." }, 401: html("The form, with what is wrong.") },
  },
  {
    ...cookie,
    method: "post",
    path: "/fallback/logout",
    summary: "End the session of the cookie",
    responses: { 303: { description: "Logged out; back to the page." } },
  },
];

const health = { method: "get", tags: ["Health"], auth: "none" } as const;
const alive = { 200: { description: "It answers.", schema: z.object({ status: z.literal("ok") }) } };
const readiness = z.object({ status: z.enum(["ready", "not ready"]), controlPlane: z.enum(["connected", "unknown"]) });

const healthDescriptions: readonly OperationDescription[] = [
  { ...health, path: "/health/liveliness", summary: "Whether this process answers", responses: alive },
  { ...health, path: "/health/liveness", summary: "The same under its usual name", responses: alive },
  {
    ...health,
    path: "/health/readiness",
    summary: "Whether this edge takes calls",
    responses: {
      200: { description: "It does.", schema: readiness },
      503: { description: "The control plane is not heard, the journal takes nothing, or it is stopping.", schema: readiness },
    },
  },
  {
    ...health,
    auth: "admin",
    path: "/health",
    summary: "This edge in figures, for the master key or a platform admin's token",
    responses: {
      200: {
        description: "Its figures.",
        schema: z.object({ status: z.string(), edge: z.int(), uptimeSeconds: z.int(), memoryBytes: z.int(), node: z.string() }),
      },
    },
  },
  {
    ...health,
    path: "/metrics",
    summary: "Prometheus metrics of this edge; from another machine with the master key or a platform admin's token",
    responses: { 200: { description: "As text.", contentType: "text/plain", schema: z.string() } },
  },
];

/** What a node answers is the node's to say: its own document is at /training/nodes/{id}/openapi.json, where it has one. */
const doorDescriptions: readonly OperationDescription[] = (["get", "post", "put", "patch", "delete"] as const).map((method) => ({
  method,
  path: "/training/nodes/:id/*path",
  summary: "A team's trainer node behind the edge: by a token or an API key of the team, never by the console's cookie",
  tags: ["Training"],
  auth: "user",
  params: z.object({ id: z.string(), path: z.string() }),
  responses: {
    200: { description: "What the node answered, with the headers of the participant API; other types than data are downloads." },
  },
}));

const documentDescriptions: readonly OperationDescription[] = [
  {
    method: "get",
    path: "/openapi.json",
    summary: "This document",
    tags: ["Documents"],
    auth: "none",
    responses: { 200: { description: "OpenAPI 3.1.", schema: z.looseObject({ openapi: z.string() }) } },
  },
  {
    method: "get",
    path: "/docs",
    summary: "This document for people",
    tags: ["Documents"],
    auth: "none",
    responses: { 200: html("A page.") },
  },
];

export const otherDescriptions: readonly OperationDescription[] = [
  ...consoleDescriptions,
  ...doorDescriptions,
  ...healthDescriptions,
  ...documentDescriptions,
];
