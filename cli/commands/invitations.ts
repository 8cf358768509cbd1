import type { Command } from "commander";
import type { Io } from "../io.ts";
import { registerGroup } from "../operations/register.ts";
import { given, type OperationSpec, required } from "../operations/spec.ts";

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "Invitations to your address that wait to be accepted",
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
      empty: "No invitation waits for your address.",
    },
  },
  {
    name: "accept",
    summary: "Join a team with the token of the invitation's link",
    method: "POST",
    path: "/api/invitations/accept",
    auth: "user",
    fields: [given("<token>", "what stands after token= in the link", "token", required)],
    view: {
      kind: "record",
      fields: [
        { title: "organization", at: "organization.name" },
        { title: "organization id", at: "organization.id" },
        { title: "team", at: "team.name" },
        { title: "team id", at: "team.id" },
        { title: "role", at: "member.role" },
      ],
      id: "team.id",
    },
  },
];

export function registerInvitations(program: Command, io: Io): void {
  registerGroup(program, io, { name: "invitations", summary: "Invitations to your address", operations, alone: "list" });
}
