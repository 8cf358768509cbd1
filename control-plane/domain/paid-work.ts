/** Background work that was charged. Repeating it after a crash costs only what exceeds the amount. */
export interface PaidWork {
  id: string;
  /** Absent in records of older releases. */
  organizationId?: string;
  /** The call that was charged first. */
  callId: string;
  /** What all calls of the work were charged together. Absent in records of older releases: then no later call is charged. */
  amount?: bigint;
  expiresAt: number;
}
