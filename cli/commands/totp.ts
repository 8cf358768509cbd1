import { CliError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { isAboutOtp } from "../http/api-error.ts";
import type { ApiAnswer } from "../http/client.ts";
import { type Field, type Group, type OperationSpec, option, type RequestValues, required } from "../operations/spec.ts";
import type { View } from "../output/printer.ts";
import { valueAt } from "../output/values.ts";

const QUESTION = "Code of the authenticator app";
const path = "/api/auth/totp";
const appCode: Field = option("--otp <code>", "code of the authenticator app", "otp", { ...required, question: QUESTION });
const password: Field = option("--password-stdin", "read the password from stdin", "password", {
  kind: "secret",
  ...required,
  question: "Password",
});

/** The option of `gw auth login`. */
export const loginCode: Field = option("--otp <code>", "code of the authenticator app, or a recovery code; prompted for if needed", "otp");

const codesView: View = {
  kind: "sentence",
  text: (body) =>
    `Recovery codes. Each works once in place of a code of the app. Save them now: they are not shown again.\n\n  ${codesOf(body).join("\n  ")}`,
};

const confirm: OperationSpec = {
  name: "confirm",
  summary: "Turn two-factor authentication on with a first code; prints the recovery codes and ends all other sessions",
  method: "POST",
  path: `${path}/confirm`,
  auth: "user",
  fields: [appCode],
  view: codesView,
};

export const totpGroup: Group = {
  name: "totp",
  summary: "Two-factor authentication of your account",
  default: "status",
  operations: [
    {
      name: "status",
      summary: "Show whether two-factor authentication is on",
      method: "GET",
      path,
      auth: "user",
      view: {
        kind: "record",
        fields: [
          { title: "enabled", at: "enabled", as: "yesno" },
          { title: "recovery codes left", at: "recoveryCodesLeft" },
        ],
        id: "enabled",
      },
    },
    {
      name: "enable",
      summary: "Set up two-factor authentication. Without a terminal, run `gw auth totp confirm` with a first code after it",
      method: "POST",
      path,
      auth: "user",
      fields: [password],
      view: {
        kind: "record",
        fields: [
          { title: "secret", at: "secret" },
          { title: "url", at: "otpauthUrl" },
        ],
        id: "secret",
      },
      after: confirmOnTerminal,
    },
    confirm,
    {
      name: "recovery-codes",
      summary: "Replace your recovery codes and print the new ones",
      method: "POST",
      path: `${path}/recovery-codes`,
      auth: "user",
      fields: [appCode],
      view: codesView,
    },
    {
      name: "disable",
      summary: "Turn two-factor authentication off; a recovery code needs the password too",
      method: "DELETE",
      path,
      auth: "user",
      fields: [
        option("--otp <code>", "code of the authenticator app, or a recovery code", "otp", { ...required, question: QUESTION }),
        { ...password, required: false },
      ],
      before: async (context, { body }) => {
        if (/^\d{3} ?\d{3}$/.test(String(body["otp"])) || body["password"] !== undefined) return;
        body["password"] = await context.secret("Password", { fromStdin: false, flag: password.flag });
      },
      view: { kind: "sentence", text: () => "Two-factor authentication is off." },
    },
  ],
};

/** Asks for the code of a log-in that needs one; true if there is one to send. */
export async function askForCode({ io }: Context, error: CliError, { body }: RequestValues): Promise<boolean> {
  if (body["otp"] !== undefined || !isAboutOtp(error.facts.details)) return false;
  if (!io.stdinIsTerminal) {
    throw new CliError(error.exit, { ...error.facts, hint: "Use --otp with a code of the authenticator app, or a recovery code." });
  }
  body["otp"] = await io.prompts.ask("Two-factor code or recovery code");
  return true;
}

/** On a terminal, shows the secret as a QR code and asks for the first code. */
async function confirmOnTerminal(context: Context, { body }: ApiAnswer): Promise<void> {
  const { io, print, client } = context;
  if (print.json || !io.stdinIsTerminal) return print.note("Confirm it with `gw auth totp confirm --otp <code>`.");
  // Loaded here, because no other command needs it.
  const { renderUnicodeCompact } = await import("uqr");
  const lines = renderUnicodeCompact(String(valueAt(body, "otpauthUrl")), { border: 2 }).split("\n");
  print.text(`\n${lines.map((line) => print.paint("inverse", line)).join("\n")}\n\n`);
  print.note("Scan the QR code with an authenticator app, or enter the secret there.");
  const otp = await io.prompts.ask(QUESTION);
  const confirmed = await client.send({ method: confirm.method, path: confirm.path, auth: confirm.auth, body: { otp } });
  print.answer(confirmed.body, codesView);
}

function codesOf(body: unknown): string[] {
  const codes = valueAt(body, "recoveryCodes");
  return Array.isArray(codes) ? codes.map(String) : [];
}
