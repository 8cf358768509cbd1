import type { Command } from "commander";
import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { ApiAnswer } from "../http/client.ts";
import type { Io } from "../io.ts";
import { onAction, registerGroup } from "../operations/register.ts";
import { argument, type CommandInput, type Field, type OperationSpec, option, required } from "../operations/spec.ts";
import { type Column, valueAt } from "../output/values.ts";
import { freshToken, notLoggedIn, saveSession } from "../settings/session.ts";
import { askForCode, loginCode, totpGroup } from "./totp.ts";

const userFields: readonly Column[] = [
  { title: "user", at: "user.email" },
  { title: "name", at: "user.name" },
  { title: "id", at: "user.id" },
  { title: "role", at: "user.role" },
  { title: "email verified", at: "user.emailVerified", as: "yesno" },
  { title: "organization", at: "organization.name" },
  { title: "organization id", at: "organization.id" },
  { title: "balance", at: "organization.balance", as: "usd" },
  { title: "status", at: "organization.status", as: "state" },
];

const email: Field = option("--email <email>", "email address of the account", "email", { ...required, question: "Email" });
const password: Field = option("--password-stdin", "read the password from stdin", "password", {
  kind: "secret",
  ...required,
  question: "Password",
});

const secret = (flag: string, question: string, to: string): Field =>
  option(flag, `read the ${question.toLowerCase()} from stdin`, to, { kind: "secret", ...required, question });

const operations: readonly OperationSpec[] = [
  {
    name: "login",
    hidden: ["token"],
    summary: "Log in. The token is saved in this profile and renewed automatically",
    method: "POST",
    path: "/api/auth/token",
    auth: "none",
    fields: [email, password, loginCode],
    retry: askForCode,
    view: {
      kind: "sentence",
      text: (body) => `Logged in until ${String(valueAt(body, "expiresAt"))}. The token is renewed while it is in use.`,
    },
    after: saveLogin,
  },
  {
    name: "signup",
    hidden: ["token"],
    summary: "Create an account with an organization and a first team, and log in",
    method: "POST",
    path: "/api/auth/signup",
    auth: "none",
    fields: [
      email,
      option("--name <name>", "your name", "name"),
      option("--organization <name>", "organization name", "organizationName"),
      option("--invite-token <token>", "token from an invitation link; joins its team", "inviteToken"),
      password,
    ],
    view: {
      kind: "record",
      fields: [...userFields, { title: "team", at: "team.name" }, { title: "team id", at: "team.id" }],
      id: "user.id",
    },
    after: saveLogin,
  },
  {
    name: "logout",
    summary: "Log out and delete the saved token",
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
    view: { kind: "sentence", text: (body) => `The token is renewed until ${String(valueAt(body, "expiresAt"))}.` },
    before: async ({ settings }) => {
      // The refresh ends the token in the variable, and gw cannot put the new one there.
      if (settings.token?.from === "GW_TOKEN")
        throw usageError("gw cannot renew the token of GW_TOKEN.", "Unset GW_TOKEN, or log in again.");
    },
    after: ({ settings, io }, answer) => void saveSession(settings, answer.body, io),
  },
  {
    name: "me",
    summary: "Show the logged-in user",
    method: "GET",
    path: "/api/auth/me",
    auth: "user",
    view: { kind: "record", fields: userFields, id: "user.id" },
  },
  {
    name: "password",
    hidden: ["token"],
    summary: "Change the password (stdin: current password, then new password)",
    method: "POST",
    path: "/api/auth/password",
    auth: "user",
    fields: [
      secret("--password-stdin", "Current password", "currentPassword"),
      secret("--new-password-stdin", "New password", "newPassword"),
    ],
    view: { kind: "sentence", text: () => "The password is changed." },
    after: (context, answer) => {
      // The response holds a new session, because a password change revokes all sessions.
      if (valueAt(answer.body, "token")) saveSession(context.settings, answer.body, context.io);
    },
  },
  {
    name: "reset-request",
    summary: "Request a password reset link",
    method: "POST",
    path: "/api/auth/password/reset-request",
    auth: "none",
    fields: [email],
    view: { kind: "sentence", text: () => "If an account exists for this email, a reset link has been sent." },
  },
  {
    name: "reset",
    summary: "Reset the password with the token from the link (stdin: token, then new password)",
    method: "POST",
    path: "/api/auth/password/reset",
    auth: "none",
    fields: [secret("--token-stdin", "Reset token", "token"), secret("--password-stdin", "New password", "newPassword")],
    view: { kind: "sentence", text: () => "The password is reset. Log in with `gw auth login`." },
  },
  {
    name: "verify-email",
    summary: "Verify your email address with the token from the link (stdin: token)",
    method: "POST",
    path: "/api/auth/verify-email",
    auth: "user",
    fields: [secret("--token-stdin", "Verification token", "token")],
    view: { kind: "sentence", text: (body) => `${String(valueAt(body, "user.email"))} is verified.` },
  },
  {
    name: "resend-verification",
    summary: "Send the verification mail again",
    method: "POST",
    path: "/api/auth/verify-email/resend",
    auth: "user",
    view: { kind: "sentence", text: () => "A verification mail has been sent to your email address." },
  },
];

const sessionOperations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List your sessions",
    method: "GET",
    path: "/api/auth/sessions",
    auth: "user",
    view: {
      kind: "list",
      columns: [
        { title: "id", at: "id" },
        { title: "current", at: "current", as: "yesno" },
        { title: "created", at: "createdAt", as: "time" },
        { title: "last used", at: "lastUsedAt", as: "time" },
        { title: "address", at: "address" },
        { title: "user agent", at: "userAgent" },
      ],
      id: "id",
    },
  },
  {
    name: "end",
    summary: "End a session",
    method: "DELETE",
    path: "/api/auth/sessions/:id",
    auth: "user",
    fields: [argument("id", "session ID")],
    confirm: "End session {args}?",
    view: { kind: "sentence", text: () => "The session has ended." },
  },
  {
    name: "end-others",
    summary: "End all sessions except the current one",
    method: "DELETE",
    path: "/api/auth/sessions",
    auth: "user",
    confirm: "End all other sessions?",
    view: { kind: "sentence", text: (body) => `Sessions ended: ${String(valueAt(body, "ended"))}.` },
  },
];

export function registerAuth(program: Command, io: Io): void {
  const auth = registerGroup(program, io, { name: "auth", summary: "Log in, sign up, manage the session", operations });
  registerGroup(auth, io, { name: "sessions", summary: "List and end your sessions", operations: sessionOperations, default: "list" });
  registerGroup(auth, io, totpGroup);
  const token = auth.command("token").description("Print the access token; it ends when gw renews it");
  onAction(token, io, async (context) => {
    const value = await freshToken(context.io, context.settings);
    if (!value) throw notLoggedIn(context.settings);
    context.print.text(`${value}\n`);
  });
}

function saveLogin({ settings, io, print }: Context, answer: ApiAnswer, { values }: CommandInput): void {
  const address = values.body["email"];
  if (typeof address !== "string") throw usageError("The email address is missing.");
  saveSession(settings, answer.body, io, address);
  print.note(`Saved for ${settings.apiUrl.value} (profile ${settings.profile}).`);
}
