import type { Command } from "commander";
import type { Io } from "../io.ts";
import { registerGroup } from "../operations/register.ts";
import { argument, type OperationSpec, option, required } from "../operations/spec.ts";
import { type Column, valueAt } from "../output/values.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "url", at: "url" },
  { title: "headers", at: "headerNames", as: "list" },
  { title: "tools", at: "allowedTools", as: "list" },
  { title: "per call", at: "pricePerCall", as: "usd" },
  { title: "team", at: "team_id" },
  { title: "created", at: "createdAt", as: "time" },
];

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List MCP servers",
    method: "GET",
    path: "/api/gw/mcp-servers",
    auth: "user",
    view: { kind: "list", columns, id: "id", empty: "No MCP servers." },
  },
  {
    name: "create",
    summary: "Register an MCP server. API keys call its tools at /mcp",
    method: "POST",
    path: "/api/gw/mcp-servers",
    auth: "user",
    fields: [
      option("--name <name>", "name; its tools are called name__tool", "name", { ...required, question: "Name" }),
      option("--url <url>", "HTTPS URL", "url", { ...required, question: "URL" }),
      option("--headers <json>", "headers for the server, as JSON; never shown again", "headers", { kind: "json" }),
      option("--tools <a,b>", "only these tools", "allowedTools", { kind: "list" }),
      option("--price <usd>", "price of each call, in USD", "pricePerCall", { kind: "usd" }),
      option("--team <id>", "only for keys of this team", "team_id"),
    ],
    view: { kind: "record", at: "server", fields: columns, id: "server.id" },
  },
  {
    name: "remove",
    summary: "Delete an MCP server",
    method: "DELETE",
    path: "/api/gw/mcp-servers/:id",
    auth: "user",
    fields: [argument("id", "MCP server ID")],
    confirm: "Delete MCP server {args}?",
    view: { kind: "sentence", text: (body) => `Deleted ${String(valueAt(body, "id"))}.`, id: "id" },
  },
];

export function registerMcp(program: Command, io: Io): void {
  registerGroup(program, io, { name: "mcp", summary: "Manage MCP servers", operations, default: "list" });
}
