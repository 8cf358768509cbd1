/** What an alert watches, and the unit of its threshold and value: hundredths of a percent, milliseconds, nano-USD. */
export type AlertMetric = "error_rate" | "latency_p95" | "spend";

/** A rule of an organization on its calls, and its state. */
export interface AlertRecord {
  id: string;
  organizationId: string;
  name: string;
  metric: AlertMetric;
  threshold: bigint;
  /** Of error rate and latency. */
  windowMinutes: number;
  /** Of spend, in UTC. */
  period: "day" | "month";
  /** With fewer calls in the window, error rate and latency are not judged. */
  minRequests: number;
  model?: string;
  teamId?: string;
  /** Owners and admins get a mail. */
  email: boolean;
  /** The address of an incoming webhook in Slack's format is a secret. */
  sealedSlackUrl?: string;
  slackHost?: string;
  state: "ok" | "firing";
  /** When the state began. */
  since: number;
  /** The last value that was written, and when; absent: not known, or too few calls. */
  value?: bigint;
  checkedAt?: number;
  createdBy: number;
  createdAt: number;
  updatedAt: number;
}

/** Values are written this often without a change of state, so that alerts add no steady load to settlements. */
const VALUE_AGE_MS = 5 * 60_000;

/**
 * The alert after a measurement. It fires at its threshold and resolves a tenth below it, so that a value that stays near the threshold is not
 * a message a minute.
 */
export function judged(alert: AlertRecord, value: bigint | undefined, now: number): AlertRecord {
  const isAbove = value !== undefined && (alert.state === "firing" ? value * 10n >= alert.threshold * 9n : value >= alert.threshold);
  const state = isAbove ? "firing" : "ok";
  const { value: _before, ...rest } = alert;
  return {
    ...rest,
    ...(value === undefined ? {} : { value }),
    state,
    since: state === alert.state ? alert.since : now,
    checkedAt: now,
  };
}

/** Whether a judged alert has to be written. */
export function isNews(before: AlertRecord, after: AlertRecord, now: number): boolean {
  const isOld = before.checkedAt === undefined || now - before.checkedAt >= VALUE_AGE_MS;
  return before.state !== after.state || (isOld && (before.checkedAt === undefined || before.value !== after.value));
}
