import type { MongoClient, ServerDescription, TopologyDescription } from "mongodb";

/** Follows what the driver's monitors see of the replica set. */
export class PrimaryWatch {
  #description: TopologyDescription | undefined;

  /** Before the client connects: the driver tells of changes only. */
  constructor(client: MongoClient) {
    client.on("topologyDescriptionChanged", ({ newDescription }) => {
      this.#description = newDescription;
    });
  }

  get isLost(): boolean {
    return this.#description !== undefined && isWithoutPrimary(this.#description);
  }
}

/**
 * A majority of the members answers, and each of them says that it knows of no primary. One that is only out of our own reach would be
 * known to them, and others could write to it.
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
