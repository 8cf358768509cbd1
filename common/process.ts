import { ConfigError } from "./config.ts";
import { refuseUnverifiedTls } from "./exposed.ts";
import type { Logger } from "./logger.ts";
import { collectStartGarbage } from "./start-garbage.ts";

/** Messages of a child process to the supervisor (scripts/run.ts) or a test over the IPC channel. */
export type ProcessReport =
  | { type: "ready"; port: number }
  | { type: "first-run"; adminEmail: string; adminPassword: string | null; masterKey: string | null };

export function report(message: ProcessReport): void {
  process.send?.(message);
}

/** Runs a service's main. An invalid configuration is printed and exits with code 78 (EX_CONFIG), after which the supervisor does not restart. */
export async function runMain(title: string, main: () => Promise<void>): Promise<void> {
  process.title = title;
  try {
    refuseUnverifiedTls(process.env);
    await main();
    collectStartGarbage();
  } catch (thrown) {
    if (thrown instanceof ConfigError) {
      process.stderr.write(`${title}: ${thrown.message}\n`);
      process.exit(78);
    }
    process.stderr.write(`${title}: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    process.exit(1);
  }
}

/**
 * Calls `stop` once on SIGTERM or SIGINT, or when the supervisor is gone, then exits with 0; a second signal or a wait of 30 s beyond
 * `drainMs` exits with 1. An uncaught error ends the process, because a restart is the tested recovery.
 */
export function onShutdown(
  logger: Logger,
  stop: (cause: { isOrphan: boolean }) => Promise<void>,
  { drainMs = 0 }: { drainMs?: number } = {},
): void {
  let stopping = false;
  const begin = (cause: string, { isOrphan }: { isOrphan: boolean }) => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.info({ cause }, "stopping");
    setTimeout(() => process.exit(1), drainMs + 30_000).unref();
    stop({ isOrphan }).then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ error: String(error) }, "stop failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", () => begin("SIGTERM", { isOrphan: false }));
  process.on("SIGINT", () => begin("SIGINT", { isOrphan: false }));
  if (process.send) process.on("disconnect", () => begin("supervisor is gone", { isOrphan: true }));
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => {
      logger.error({ event, error: error instanceof Error ? error.stack : String(error) }, "ending after an uncaught error");
      process.exit(70);
    });
  }
}

const ORPHAN_DRAIN_MS = 5000;

/** A process without its supervisor stops soon, because the next supervisor needs its ports and folders. */
export function drainTimes(
  { drainDelayMs, drainMs }: { drainDelayMs: number; drainMs: number },
  { isOrphan }: { isOrphan: boolean },
): { drainDelayMs: number; drainMs: number } {
  return isOrphan ? { drainDelayMs: 0, drainMs: Math.min(drainMs, ORPHAN_DRAIN_MS) } : { drainDelayMs, drainMs };
}
