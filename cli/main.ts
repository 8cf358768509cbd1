#!/usr/bin/env node
/** `gw`, the command-line client: each command is one HTTP operation of the platform, or a few of them. */
import { processIo } from "./io.ts";
import { run } from "./run.ts";

process.exitCode = await run(process.argv.slice(2), processIo());
