/**
 * What Node is told when an edge or a control plane starts. There is a process for every core: helpers that collect its garbage beside it
 * only take the core of the next one, and cost more in meeting each other than they save.
 */
export const SERVICE_NODE_FLAGS: readonly string[] = ["--single-threaded-gc"];
