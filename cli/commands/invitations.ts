import type { Command } from "commander";
import type { Io } from "../io.ts";
import { registerGroup } from "../operations/register.ts";
import { type OperationSpec, option, required } from "../operations/spec.ts";

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List pending invitations for your email",
    method: "GET",
    path: "/api/invitations",
    auth: "user",
    view: {
      kind: "list",
      columns: [
        { title: "organization", at: "organizationName" },
        { title: "team", at: "teamName" },
        { title: "role", at: "role" },
        { title: "expires", at: "expiresAt", as: "time" },
      ],
      id: "id",
      empty: "No pending invitations.",
    },
  },
  {
    name: "accept",
    summary: "Accept an invitation with the token from its link",
    method: "POST",
    path: "/api/invitations/accept",
    auth: "user",
    fields: [option("<token>", "value of token= in the link", "token", required)],
    view: {
      kind: "record",
      fields: [
        { title: "organization", at: "organization.name" },
        { title: "organization ID", at: "organization.id" },
        { title: "team", at: "team.name" },
        { title: "team ID", at: "team.id" },
        { title: "role", at: "member.role" },
      ],
      id: "team.id",
    },
  },
];

export function registerInvitations(program: Command, io: Io): void {
  registerGroup(program, io, { name: "invitations", summary: "View and accept invitations", operations, default: "list" });
}
