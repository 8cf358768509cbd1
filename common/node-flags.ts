/**
 * Node flags of every service: objects have no `__proto__` that input could reach, and a signal opens no inspector, which would run any code
 * that is sent to its port.
 */
export const HARDENING_FLAGS: readonly string[] = ["--disable-proto=delete", "--disable-sigusr1"];

/**
 * Node flags of control planes and edges. There is one process per core, so parallel threads for young-generation garbage collection
 * would take CPU time from other processes, and their synchronization costs more than they save. Concurrent marking stays on.
 *
 * V8 may decide to allocate the objects of a line of code in the old generation, because the first hundreds of them lived long. If that line is Node's table of
 * listeners, which sockets and requests have in common, each request stays in memory until the next full collection: 7.5 KB instead of 0.6 KB of a call are
 * promoted, and young collections take 25 to 37 microseconds of each call instead of 5. One process in four was like that, for its whole life.
 *
 * After eight seconds without much to do V8 collects garbage to give memory back, drops compiled code, and makes the heap small. Calls that come in bursts would
 * then pay for that collection, for compiling again, and for one or two more collections in their first five thousand, until the heap has grown again.
 *
 * The young generation has the size that V8 gives it. With at most 16 MB an edge takes 90 MB less, and 1.07 to 1.14 of its CPU for a call with 64 connections or a
 * thousand, in turns: the calls under way do not fit, and are promoted. With 64 MB there is no difference.
 */
export const SERVICE_NODE_FLAGS: readonly string[] = [
  ...HARDENING_FLAGS,
  "--no-parallel-scavenge",
  "--no-allocation-site-pretenuring",
  "--no-memory-reducer",
];

/**
 * Node flags of trainer nodes. Tensors are not in V8's heap, so the young generation of each thread has little to hold; by default it grows to 16 MB and more
 * while code is loaded, and keeps that.
 */
export const TRAINER_NODE_FLAGS: readonly string[] = [...HARDENING_FLAGS, "--max-semi-space-size=2"];

/**
 * Environment of the coordinator. Updates pass through it in chunks, so a small young generation collects them early. Fewer malloc arenas
 * avoid some megabytes of unused memory per thread.
 */
export const COORDINATOR_ENV: Readonly<Record<string, string>> = { NODE_OPTIONS: "--max-semi-space-size=1", MALLOC_ARENA_MAX: "2" };
