/** A model that was trained here. What it answers with is a version of it; which one, its traffic says. */
export interface TrainedModel {
  id: string;
  /** Unique in its organisation. */
  name: string;
  /** The name again while everybody may call it: then it is unique among all of those. */
  openName?: string;
  organizationId: string;
  /** Whose managers may change it, beside those of the organisation. */
  teamId?: string;
  type: string;
  description: string;
  visibility: "organization" | "listed" | "public";
  allowedOrganizationIds: readonly string[];
  /** Sums to 100. */
  traffic: readonly TrafficShare[];
  latestVersion: number;
  createdAt: number;
  updatedAt: number;
}

export interface TrafficShare {
  version: number;
  /** 1 to 100. */
  percent: number;
}

/** Never changed once it is there: a call's row names it for good. */
export interface TrainedVersion {
  /** modelId/version */
  id: string;
  modelId: string;
  version: number;
  /** SHA-256 of the parameters; absent where a node makes them by itself. */
  blob?: string;
  builtin?: "digits";
  format?: string;
  /** JSON. */
  task: string;
  lineage: string;
  /** Absent: made by the platform itself. */
  createdBy?: number;
  createdAt: number;
}
