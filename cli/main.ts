#!/usr/bin/env node
/** `gw`, the command-line client: each command calls one or a few HTTP operations of the platform. */
import { processIo } from "./io.ts";
import { run } from "./run.ts";

process.exitCode = await run(process.argv.slice(2), processIo());
