#!/usr/bin/env node
/** `tributary`, the program of the package and the image: the whole platform, or one process of it, which then takes the place of this one. */
import { resolve } from "node:path";
import { programFile } from "../common/program-files.ts";
import { isNodeSince, NODE_MIN, VERSION } from "../common/version.ts";
import { checkHealth } from "./supervisor/check-health.ts";
import { PROGRAMS } from "./supervisor/programs.ts";

const USAGE = `tributary                  starts everything on this machine: control plane, edges, trainer node, coordinator
tributary --config FILE    the same with a LiteLLM config.yaml
tributary ROLE             starts one process: ${Object.keys(PROGRAMS).join(", ")}
tributary health           whether the process of this machine or container is ready: exit code 0 or 1
tributary --version

Settings are environment variables: docs/settings.md of the package. The command-line client is gw.
`;
const EXIT_USAGE = 64;
const EXIT_CONFIG = 78;

if (isNodeSince(process.versions.node, NODE_MIN)) {
  await start(process.argv[2]);
} else {
  process.stderr.write(`tributary: this is Node ${process.versions.node}; Tributary needs Node ${NODE_MIN} or newer\n`);
  process.exitCode = EXIT_CONFIG;
}

async function start(word: string | undefined): Promise<void> {
  if (word === undefined || word === "--config" || word.startsWith("--config=")) {
    await import("./run.ts");
  } else if (word === "--version") {
    process.stdout.write(`${VERSION}\n`);
  } else if (word === "--help") {
    process.stdout.write(USAGE);
  } else if (word === "health") {
    const { ready, text } = await checkHealth(process.env);
    process.stdout.write(`${text}\n`);
    process.exitCode = ready ? 0 : 1;
  } else startRole(word);
}

function startRole(role: string): void {
  if (!isRole(role)) {
    process.stderr.write(`tributary: there is no ${role}\n\n${USAGE}`);
    process.exitCode = EXIT_USAGE;
    return;
  }
  const program = PROGRAMS[role];
  const entry = resolve(import.meta.dirname, "..", programFile(program.entry));
  // The same process goes on, so that signals of an init system or a container reach it.
  process.execve?.(process.execPath, [process.execPath, ...program.nodeFlags, entry], { ...program.env, ...definedOf(process.env) });
}

function isRole(word: string): word is keyof typeof PROGRAMS {
  return Object.hasOwn(PROGRAMS, word);
}

function definedOf(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
