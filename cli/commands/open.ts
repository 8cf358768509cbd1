import type { Command } from "commander";
import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { Io } from "../io.ts";
import { onAction } from "../operations/register.ts";
import { similarTo } from "../operations/similar.ts";

/** Screens of the console by the word that opens them. */
const SCREENS: Readonly<Record<string, string>> = {
  overview: "/",
  start: "/start",
  keys: "/keys",
  models: "/model_hub_table",
  playground: "/playground",
  usage: "/usage",
  logs: "/logs",
  teams: "/teams",
  organization: "/organization",
  credits: "/credits",
  training: "/training",
  account: "/account",
  admin: "/admin",
};

/** Records that have a place of their own in the console, by the prefix of their ID. */
const RECORDS: Readonly<Record<string, (id: string) => string>> = {
  call: (id) => `/logs?call=${id}`,
  team: (id) => `/teams/${id}`,
  fed: (id) => `/training/${id}`,
};

export function registerOpen(program: Command, io: Io): void {
  const command = program
    .command("open [screen]")
    .description(`Open the console in a browser: ${Object.keys(SCREENS).join(", ")}, or the ID of a call, team or federation`);
  onAction(command, io, open);
}

async function open({ settings, io, print }: Context, [screen = "overview"]: readonly string[]): Promise<void> {
  const url = `${settings.apiUrl.value}/ui${placeOf(screen)}`;
  print.answer({ url }, { kind: "sentence", text: () => url, id: "url" });
  if (io.stdout.isTerminal && !io.openUrl(url)) print.note("This machine has no browser. Open the address yourself.");
}

function placeOf(screen: string): string {
  const record = RECORDS[/^([a-z]+)_[0-9a-z]+$/.exec(screen)?.[1] ?? ""];
  const place = Object.hasOwn(SCREENS, screen) ? SCREENS[screen] : record?.(screen);
  if (place !== undefined) return place;
  const similar = similarTo(screen, Object.keys(SCREENS));
  throw usageError(
    `The console has no screen ${screen}.`,
    similar ? `Did you mean gw open ${similar}?` : "Show the screens with gw open --help.",
  );
}
