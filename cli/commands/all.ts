import type { Command } from "commander";
import type { Io } from "../io.ts";
import { registerApi } from "./api.ts";
import { registerAuth } from "./auth.ts";
import { registerCatalog } from "./catalog.ts";
import { registerChat } from "./chat.ts";
import { registerConfig } from "./config.ts";
import { registerKeys } from "./keys.ts";

/** Every command, in the order `gw --help` shows them. */
export function registerAll(program: Command, io: Io): void {
  registerAuth(program, io);
  registerChat(program, io);
  registerCatalog(program, io);
  registerKeys(program, io);
  registerApi(program, io);
  registerConfig(program, io);
}
