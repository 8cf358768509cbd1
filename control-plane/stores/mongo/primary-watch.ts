import type { MongoClient, ServerDescription, TopologyDescription } from "mongodb";

/** Tracks the replica set as the driver's monitors see it. */
export class PrimaryWatch {
  #description: TopologyDescription | undefined;
  #found: () => void = () => {};

  /** Must be created before the client connects, because the driver reports only changes. */
  constructor(client: MongoClient) {
    client.on("topologyDescriptionChanged", ({ newDescription }) => {
      this.#description = newDescription;
      if (newDescription.type === "ReplicaSetWithPrimary") this.#found();
    });
  }

  /** Calls back whenever the primary is in reach. */
  onFound(found: () => void): void {
    this.#found = found;
  }

  /** This process does not reach the primary; others may. */
  get isOutOfReach(): boolean {
    return this.#description?.type === "ReplicaSetNoPrimary";
  }

  /** The secondaries that answer this process. */
  get secondaries(): string[] {
    const servers = [...(this.#description?.servers.values() ?? [])];
    return servers.filter(({ type }) => type === "RSSecondary").map(({ address }) => address);
  }

  /** There is no primary, for this process and for the others. */
  get isLost(): boolean {
    return this.#description !== undefined && isWithoutPrimary(this.#description);
  }
}

/**
 * True if a majority of the members answers and reports no primary. A primary that only this process cannot reach would be known to them,
 * and others could write to it.
 */
export function isWithoutPrimary({ type, servers }: Pick<TopologyDescription, "type" | "servers">): boolean {
  if (type !== "ReplicaSetNoPrimary") return false;
  const members = [...servers.values()].filter(isMember);
  const count = Math.max(0, ...members.map(({ allHosts }) => allHosts.length));
  return count > 0 && members.filter(({ primary }) => primary === null).length * 2 > count;
}

function isMember({ type }: ServerDescription): boolean {
  return type === "RSSecondary" || type === "RSArbiter";
}
