import { PARTITIONS } from "./partitions.ts";

const ANYWHERE = [
  "write of a header",
  "write of intent",
  "write of progress",
  "write of final",
  "write of acknowledged",
  "create",
  "remove",
] as const;

/** Where an edge may die: at what it does to its disk, at its messages, at the moments of a call. */
export const EDGE_POINTS = [
  ...ANYWHERE,
  "lease is sent",
  "lease has arrived",
  "lease is answered",
  "settle is sent",
  "settle has arrived",
  "settle is answered",
  "reserveMany has arrived",
  "a call is admitted",
  "a first piece is delivered",
  "a call is at its end",
  "a last byte is sent",
] as const;

/** Where the power may fail at an edge that syncs. */
export const POWER_POINTS = [...ANYWHERE, "datasync", "sync-folder", "a last byte is sent", "settle is answered"] as const;

export const CONTROL_POINTS = ["before commit", "after commit", "before a settlement", "after a settlement"] as const;

/** Every fault that a whole run must have made at least once: one that never happens proves nothing. */
export const ALL_FAULTS: readonly string[] = [
  ...EDGE_POINTS.map((point) => `kill at ${point}`),
  ...POWER_POINTS.map((point) => `power at ${point}`),
  ...CONTROL_POINTS.flatMap((point) => [`kill at ${point}`, `stop at ${point}`]),
  ...PARTITIONS,
  "fail at datasync",
  "kill of an edge",
  "power cut at an edge",
  "SIGTERM of an edge",
  "SIGSTOP of an edge",
  "kill of a control plane",
  "SIGTERM of a control plane",
  "SIGSTOP of a control plane",
  "a slot has another owner",
  "a call is forwarded",
  "a commit under a lost epoch is refused",
  "an organization pays another",
  "a payment is refused",
  "an edge is cut off",
  "a disk is full",
  "a commit fails",
  "a commit succeeds and seems to fail",
  "a settlement after its lease",
  "a stream gets more credit",
  "a stream gets no more credit",
  "the leases of a dead edge are ended",
  "settle arrives twice",
  "settle loses a message",
  "lease arrives twice",
  "lease loses a message",
];
