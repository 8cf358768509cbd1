/** How a call in the log ended. A refused call never reached a provider and costs nothing. */
export const USAGE_STATUSES = ["success", "error", "cancelled", "refused"] as const;

export type UsageStatus = (typeof USAGE_STATUSES)[number];
