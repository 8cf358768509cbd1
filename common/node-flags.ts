/**
 * What Node is told when an edge or a control plane starts. There is a process for every core: threads that help it with its short-lived
 * garbage take the core of the next one, and cost more in meeting each other than they save. Old garbage is still marked beside it.
 */
export const SERVICE_NODE_FLAGS: readonly string[] = ["--no-parallel-scavenge"];

/**
 * What a coordinator is started with. Updates pass through it in pieces: with little room for what is soon forgotten, it is forgotten soon.
 * And each of its threads, given memory of its own to allocate from, would keep some megabytes of it that nobody uses.
 */
export const COORDINATOR_ENV: Readonly<Record<string, string>> = { NODE_OPTIONS: "--max-semi-space-size=1", MALLOC_ARENA_MAX: "2" };
