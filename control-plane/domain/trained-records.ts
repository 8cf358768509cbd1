/** A model trained on this platform. Its traffic shares decide which version answers a call. */
export interface TrainedModel {
  id: string;
  /** Unique in its organization. */
  name: string;
  /** The name again if the model is public: unique among all public models. */
  openName?: string;
  organizationId: string;
  /** The team whose owners and admins may change it, beside those of the organization. */
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

/** The share of calls that one version gets. */
export interface TrafficShare {
  version: number;
  /** 1 to 100. */
  percent: number;
}

/** One version of a trained model. Never changed, because usage rows name it. */
export interface TrainedVersion {
  /** modelId/version */
  id: string;
  modelId: string;
  version: number;
  /** SHA-256 of the parameters; absent for built-in models, which nodes train themselves. */
  blob?: string;
  builtin?: "digits";
  /** The participants whose own function answers; absent: the operator's nodes serve a built-in task. */
  servers?: ServingNodes;
  format?: string;
  /** JSON. */
  task: string;
  /** JSON: the federation, round and data that it came from. */
  lineage: string;
  /** Absent: published by the platform itself. */
  createdBy?: number;
  createdAt: number;
}

/** Participants of a federation that serve its model. */
export interface ServingNodes {
  federationId: string;
  participantIds: readonly string[];
}
