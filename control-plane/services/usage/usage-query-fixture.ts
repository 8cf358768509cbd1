import type { UsageQuery } from "./log-walk.ts";

/** All rows of an organization. */
export const NO_FILTER: UsageQuery = {
  organizationId: "org_1",
  keyId: undefined,
  teamId: undefined,
  search: undefined,
  start: undefined,
  end: undefined,
  matches: () => true,
};
