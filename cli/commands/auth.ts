import type { Command } from "commander";
import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { ApiAnswer } from "../http/client.ts";
import type { Io } from "../io.ts";
import { onAction, registerGroup } from "../operations/register.ts";
import { type Field, type Given, given, type OperationSpec, required } from "../operations/spec.ts";
import { type Column, valueAt } from "../output/values.ts";
import { freshToken, keepSession, notLoggedIn } from "../settings/session.ts";

const userFields: readonly Column[] = [
  { title: "user", at: "user.email" },
  { title: "name", at: "user.name" },
  { title: "id", at: "user.id" },
  { title: "role", at: "user.role" },
  { title: "organization", at: "organization.name" },
  { title: "organization id", at: "organization.id" },
  { title: "balance", at: "organization.balance", as: "usd" },
  { title: "status", at: "organization.status", as: "state" },
];

const email: Field = given("--email <email>", "e-mail address of the account", "email", { ...required, question: "E-mail" });
const password: Field = given("--password-stdin", "read the password from standard input", "password", {
  kind: "secret",
  ...required,
  question: "Password",
});

const secret = (flag: string, question: string, to: string): Field =>
  given(flag, `read it from standard input: ${question.toLowerCase()}`, to, { kind: "secret", ...required, question });

const operations: readonly OperationSpec[] = [
  {
    name: "login",
    hidden: ["token"],
    summary: "Log in; the token is kept for this profile and renewed by itself",
    method: "POST",
    path: "/api/auth/token",
    auth: "none",
    fields: [email, password],
    view: { kind: "sentence", text: (body) => `Logged in until ${String(valueAt(body, "expiresAt"))}, renewed while in use.` },
    after: keep,
  },
  {
    name: "signup",
    hidden: ["token"],
    summary: "Make an account with an organisation and its first team, and log in",
    method: "POST",
    path: "/api/auth/signup",
    auth: "none",
    fields: [
      email,
      given("--name <name>", "what you are called", "name"),
      given("--organization <name>", "name of the organisation", "organizationName"),
      given("--invite-token <token>", "of the link of an invitation to this address: joins its team", "inviteToken"),
      password,
    ],
    view: {
      kind: "record",
      fields: [...userFields, { title: "team", at: "team.name" }, { title: "team id", at: "team.id" }],
      id: "user.id",
    },
    after: keep,
  },
  {
    name: "logout",
    summary: "End the session and forget its token",
    method: "POST",
    path: "/api/auth/logout",
    auth: "user",
    view: { kind: "sentence", text: () => "Logged out." },
    after: ({ settings }) => settings.store({ token: undefined, expiresAt: undefined, obtainedAt: undefined }),
  },
  {
    name: "refresh",
    hidden: ["token"],
    summary: "Renew the token now",
    method: "POST",
    path: "/api/auth/token/refresh",
    auth: "user",
    view: { kind: "sentence", text: (body) => `Renewed until ${String(valueAt(body, "expiresAt"))}.` },
    after: ({ settings, io, print }, answer) => {
      if (settings.token?.from === "GW_TOKEN") print.note("GW_TOKEN is set, so the new token is not kept.");
      else keepSession(settings, answer.body, io);
    },
  },
  {
    name: "me",
    summary: "Who is logged in",
    method: "GET",
    path: "/api/auth/me",
    auth: "user",
    view: { kind: "record", fields: userFields, id: "user.id" },
  },
  {
    name: "password",
    hidden: ["token"],
    summary: "Change the password (on stdin: the present one, then the new one)",
    method: "POST",
    path: "/api/auth/password",
    auth: "user",
    fields: [
      secret("--password-stdin", "Present password", "currentPassword"),
      secret("--new-password-stdin", "New password", "newPassword"),
    ],
    view: { kind: "sentence", text: () => "The password is changed." },
    after: (context, answer) => {
      // The answer is a new session: the others have ended.
      if (valueAt(answer.body, "token")) keepSession(context.settings, answer.body, context.io);
    },
  },
  {
    name: "reset-request",
    summary: "Have a link sent for a forgotten password",
    method: "POST",
    path: "/api/auth/password/reset-request",
    auth: "none",
    fields: [email],
    view: { kind: "sentence", text: () => "If there is such an account, a link is on its way." },
  },
  {
    name: "reset",
    summary: "Set a new password with the token of the link (on stdin: the token, then the password)",
    method: "POST",
    path: "/api/auth/password/reset",
    auth: "none",
    fields: [secret("--token-stdin", "Token of the link", "token"), secret("--password-stdin", "New password", "newPassword")],
    view: { kind: "sentence", text: () => "The password is set; `gw auth login` logs you in." },
  },
];

export function registerAuth(program: Command, io: Io): void {
  const auth = registerGroup(program, io, { name: "auth", summary: "Log in, sign up, who am I", operations });
  const token = auth.command("token").description("Print the token that is sent, for other programs");
  onAction(token, io, async (context) => {
    const value = await freshToken(context.io, context.settings);
    if (!value) throw notLoggedIn(context.settings);
    context.print.text(`${value}\n`);
  });
}

function keep({ settings, io, print }: Context, answer: ApiAnswer, { values }: Given): void {
  const address = values.body["email"];
  if (typeof address !== "string") throw usageError("No e-mail address.");
  keepSession(settings, answer.body, io, address);
  print.note(`Kept for ${settings.apiUrl.value} (profile ${settings.profile}).`);
}
