import { z } from "zod";
import type { OperationDescription } from "../../schemas/operation-description.ts";
import { createTokenBody, logoutAnswer, oidcParams, oidcStartQuery } from "../../schemas/platform/auth.ts";

// OpenAPI entries of the routes that are not in a table of operations.

const html = (description: string) => ({ description, contentType: "text/html", schema: z.string() });

const cookie = { tags: ["Console"], auth: "none" } as const;
const cookieAnswer = { description: "The cookie is set.", schema: z.object({ expiresAt: z.date().nullable() }) };

/** These routes accept only requests from pages of the edge's own origin. */
const consoleDescriptions: readonly OperationDescription[] = [
  {
    ...cookie,
    method: "post",
    path: "/api/auth/session",
    summary: "Open a session in an HttpOnly cookie, with email and password or with a token; same origin only",
    body: createTokenBody.partial(),
    responses: { 200: cookieAnswer },
  },
  {
    ...cookie,
    method: "delete",
    path: "/api/auth/session",
    summary: "End the session of the cookie; same origin only",
    responses: { 200: { description: "The cookie is cleared.", schema: logoutAnswer } },
  },
  {
    ...cookie,
    method: "post",
    path: "/api/auth/session/refresh",
    summary: "Refresh the session of the cookie; same origin only",
    responses: { 200: cookieAnswer },
  },
  {
    ...cookie,
    method: "get",
    path: "/api/auth/oidc/:provider",
    summary: "Sign in with OpenID Connect: redirects the browser to the provider; `next` is the page of the console to open afterward",
    params: oidcParams,
    query: oidcStartQuery,
    responses: { 303: { description: "Redirects to the provider, or to the log-in page with the reason in `refused`." } },
  },
  {
    ...cookie,
    method: "get",
    path: "/api/auth/oidc/:provider/callback",
    summary: "Where the provider sends the browser back: sets the session cookie; only for the browser that started the sign-in",
    params: oidcParams,
    responses: { 303: { description: "Redirects to the console, or to the log-in page with the reason in `refused`." } },
  },
  {
    ...cookie,
    method: "get",
    path: "/fallback/login",
    summary: "Log-in page without scripts; shows the balance to a logged-in user",
    responses: { 200: html("The page.") },
  },
  {
    ...cookie,
    method: "post",
    path: "/fallback/login",
    summary: "Log in with the form; same origin only",
    body: createTokenBody,
    bodyType: "application/x-www-form-urlencoded",
    responses: { 303: { description: "Logged in; redirects to the page." }, 401: html("The form with the error.") },
  },
  {
    ...cookie,
    method: "post",
    path: "/fallback/logout",
    summary: "End the session of the cookie",
    responses: { 303: { description: "Logged out; redirects to the page." } },
  },
];

const health = { method: "get", tags: ["Health"], auth: "none" } as const;
const alive = { 200: { description: "The process responds.", schema: z.object({ status: z.literal("ok") }) } };
const readiness = z.object({ status: z.enum(["ready", "not ready"]), controlPlane: z.enum(["connected", "unknown"]) });

const healthDescriptions: readonly OperationDescription[] = [
  { ...health, path: "/health/liveliness", summary: "Liveness of this process", responses: alive },
  { ...health, path: "/health/liveness", summary: "Liveness of this process, alias", responses: alive },
  {
    ...health,
    path: "/health/readiness",
    summary: "Readiness of this edge",
    responses: {
      200: { description: "The edge accepts calls.", schema: readiness },
      503: {
        description: "The control plane is not connected, the journal cannot be written, or the edge is stopping.",
        schema: readiness,
      },
    },
  },
  {
    ...health,
    auth: "admin",
    path: "/health",
    summary: "Figures of this edge, for the master key or a platform admin's token",
    responses: {
      200: {
        description: "The figures.",
        schema: z.object({ status: z.string(), edge: z.int(), uptimeSeconds: z.int(), memoryBytes: z.int(), node: z.string() }),
      },
    },
  },
  {
    ...health,
    path: "/metrics",
    summary: "Prometheus metrics of this edge; from another machine only with the master key or a platform admin's token",
    responses: { 200: { description: "The metrics in Prometheus' text format.", contentType: "text/plain", schema: z.string() } },
  },
];

/** A node describes its responses itself, at /training/nodes/{id}/openapi.json if it has that. */
const nodeProxyDescriptions: readonly OperationDescription[] = (["get", "post", "put", "patch", "delete"] as const).map((method) => ({
  method,
  path: "/training/nodes/:id/*path",
  summary: "Node proxy: forwards to a team's trainer node; with a token or an API key of the team, not with the console's cookie",
  tags: ["Training"],
  auth: "user",
  params: z.object({ id: z.string(), path: z.string() }),
  responses: {
    200: { description: "The node's response with the headers of the participant API; types that a browser could render are downloads." },
  },
}));

const documentDescriptions: readonly OperationDescription[] = [
  {
    method: "get",
    path: "/openapi.json",
    summary: "This OpenAPI document",
    tags: ["Documents"],
    auth: "none",
    responses: { 200: { description: "OpenAPI 3.1.", schema: z.looseObject({ openapi: z.string() }) } },
  },
  {
    method: "get",
    path: "/docs",
    summary: "This document as an HTML page; the guides are at /docs/ where they are built",
    tags: ["Documents"],
    auth: "none",
    responses: { 200: html("The page.") },
  },
  {
    method: "get",
    path: "/docs/api",
    summary: "This document as an HTML page, alias",
    tags: ["Documents"],
    auth: "none",
    responses: { 200: html("The page.") },
  },
  {
    method: "get",
    path: "/llms.txt",
    summary: "What there is to read about the platform, for language models: a list of pages as Markdown",
    tags: ["Documents"],
    auth: "none",
    responses: { 200: { description: "The list.", contentType: "text/plain", schema: z.string() } },
  },
  {
    method: "get",
    path: "/api/agents/skill",
    summary: "How an agent uses the platform: what it needs, the calls, errors and money, as Markdown",
    tags: ["Documents"],
    auth: "none",
    responses: { 200: { description: "The page.", contentType: "text/markdown", schema: z.string() } },
  },
];

export const otherDescriptions: readonly OperationDescription[] = [
  ...consoleDescriptions,
  ...nodeProxyDescriptions,
  ...healthDescriptions,
  ...documentDescriptions,
];
