import type { Command } from "commander";
import type { Io } from "../io.ts";
import { refuseMisspelled } from "../operations/register.ts";
import { registerAdmin } from "./admin/admin.ts";
import { registerAlerts } from "./alerts.ts";
import { registerApi } from "./api.ts";
import { registerAuth } from "./auth.ts";
import { registerCatalog } from "./catalog.ts";
import { registerChat } from "./chat/chat.ts";
import { registerCompletion } from "./completion.ts";
import { registerConfig } from "./config.ts";
import { registerConform } from "./conform.ts";
import { registerDoctor } from "./doctor.ts";
import { addExamples } from "./examples.ts";
import { registerHelp } from "./help.ts";
import { registerImport } from "./import.ts";
import { registerInvitations } from "./invitations.ts";
import { registerKeys } from "./keys.ts";
import { registerListen } from "./listen.ts";
import { registerMcp } from "./mcp.ts";
import { registerOpen } from "./open.ts";
import { registerOrganizations } from "./organizations.ts";
import { registerPrompts } from "./prompt-templates.ts";
import { registerTeams } from "./teams.ts";
import { registerTrain } from "./train/train.ts";
import { registerUp } from "./up.ts";
import { registerCredits } from "./usage/credits.ts";
import { registerLogs } from "./usage/logs.ts";
import { registerUsage } from "./usage/usage.ts";
import { registerVersion } from "./version.ts";
import { registerWebhooks } from "./webhooks.ts";

const GROUPS = [
  registerAuth,
  registerChat,
  registerCatalog,
  registerKeys,
  registerTeams,
  registerInvitations,
  registerOrganizations,
  registerCredits,
  registerLogs,
  registerUsage,
  registerWebhooks,
  registerAlerts,
  registerListen,
  registerMcp,
  registerPrompts,
  registerTrain,
  registerAdmin,
  registerImport,
  registerApi,
  registerOpen,
  registerUp,
  registerConfig,
  registerDoctor,
  registerConform,
  registerCompletion,
  registerVersion,
  registerHelp,
];

/** Registers every command in the order of `gw --help`. */
export function registerAll(program: Command, io: Io): void {
  for (const register of GROUPS) register(program, io);
  addExamples(program);
  refuseMisspelled(program);
}
