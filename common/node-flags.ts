/**
 * What Node is told when an edge or a control plane starts. There is a process for every core: threads that help it with its short-lived
 * garbage take the core of the next one, and cost more in meeting each other than they save. Old garbage is still marked beside it.
 */
export const SERVICE_NODE_FLAGS: readonly string[] = ["--no-parallel-scavenge"];
