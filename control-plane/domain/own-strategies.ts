import type { OwnStrategy } from "../../common/strategies/shared/own-strategy.ts";

/** An own aggregation strategy of an organization. Federations have a copy of it. */
export interface OwnStrategyRecord extends OwnStrategy {
  /** organizationId/name */
  id: string;
  organizationId: string;
  name: string;
  sha256: string;
  createdBy: number;
  createdAt: number;
}

export const ownStrategyId = (organizationId: string, name: string): string => `${organizationId}/${name}`;
