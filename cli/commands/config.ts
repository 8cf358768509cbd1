import type { Command } from "commander";
import { CliError, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { onAction } from "../operations/register.ts";
import type { View } from "../output/printer.ts";
import { SETTING_NAMES, type SettingName } from "../settings/settings.ts";

const settingsView: View = {
  kind: "list",
  columns: [
    { title: "setting", at: "setting" },
    { title: "value", at: "value" },
    { title: "from", at: "from" },
  ],
  id: "setting",
};

export function registerConfig(program: Command, io: Io): void {
  const config = program.command("config").description("Manage profile settings: API URL, default model, default team");
  onAction(config.command("show", { isDefault: true }).description("Show the current settings and their sources"), io, show);
  onAction(config.command("get <setting>").description("Print a setting"), io, get);
  onAction(config.command("set <setting> <value>").description(`Set ${SETTING_NAMES.join(", ")} in this profile`), io, set);
  onAction(config.command("unset <setting>").description("Remove a setting"), io, unset);
  onAction(config.command("use <profile>").description("Switch to a profile"), io, use);
  onAction(config.command("profiles").description("List profiles"), io, profiles);
}

async function show({ settings, files, print }: Context): Promise<void> {
  const row = (setting: string, found: { value: string; from: string } | undefined) => ({
    setting,
    value: found?.value ?? null,
    from: found?.from ?? null,
  });
  const data = [
    { setting: "profile", value: settings.profile, from: null },
    row("api-url", settings.apiUrl),
    ...SETTING_NAMES.filter((name) => name !== "api-url").map((name) => row(name, settings.get(name))),
    { setting: "account", value: settings.stored?.email ?? null, from: settings.token?.from ?? null },
    // The key is masked: only its last characters are settingsView.
    { setting: "api key", value: settings.apiKey ? `sk-...${settings.apiKey.value.slice(-4)}` : null, from: settings.apiKey?.from ?? null },
    { setting: "folder", value: files.folder, from: null },
  ];
  print.answer({ data }, settingsView);
}

async function get({ settings, print }: Context, [name]: readonly string[]): Promise<void> {
  const setting = settingName(name);
  const value = setting === "api-url" ? settings.apiUrl.value : settings.get(setting)?.value;
  if (value === undefined) throw new CliError(EXIT.notFound, { error: `${setting} is not set.`, code: "NOT_SET" });
  print.answer({ setting, value }, { kind: "sentence", text: () => value, id: "value" });
}

async function set(context: Context, [name, value = ""]: readonly string[]): Promise<void> {
  const setting = settingName(name);
  if (setting.endsWith("-url") && !/^https?:\/\/[^/@]+/.test(value)) throw usageError(`${value} is not an http or https URL.`);
  change(context, (own) => ({ ...own, [setting]: value }));
  context.print.note(`Set ${setting} to ${value} in profile ${context.settings.profile}.`);
}

async function unset(context: Context, [name]: readonly string[]): Promise<void> {
  const setting = settingName(name);
  change(context, (own) => Object.fromEntries(Object.entries(own).filter(([key]) => key !== setting)));
  context.print.note(`Removed ${setting} from profile ${context.settings.profile}.`);
}

async function use({ files, print }: Context, [profile = ""]: readonly string[]): Promise<void> {
  files.writeConfig({ ...files.readConfig(), profile });
  print.note(`Switched to profile ${profile}.`);
}

async function profiles({ files, settings, print }: Context): Promise<void> {
  const names = new Set([
    "default",
    settings.profile,
    ...Object.keys(files.readConfig().profiles ?? {}),
    ...Object.keys(files.readCredentials().profiles ?? {}),
  ]);
  const data = [...names].sort().map((profile) => ({
    profile,
    active: profile === settings.profile,
    account: files.readCredentials().profiles?.[profile]?.email ?? null,
  }));
  const columns = [
    { title: "profile", at: "profile" },
    { title: "active", at: "active", as: "yesno" },
    { title: "account", at: "account" },
  ] as const;
  print.answer({ data }, { kind: "list", columns, id: "profile" });
}

function change({ files, settings }: Context, how: (own: Record<string, string>) => Record<string, string>): void {
  const config = files.readConfig();
  files.writeConfig({ ...config, profiles: { ...config.profiles, [settings.profile]: how(config.profiles?.[settings.profile] ?? {}) } });
}

function settingName(given: string | undefined): SettingName {
  const found = SETTING_NAMES.find((name) => name === given);
  if (!found) throw usageError(`${given} is not a setting.`, `Use one of ${SETTING_NAMES.join(", ")}.`);
  return found;
}
