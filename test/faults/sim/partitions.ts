import { between, type Link, STORE } from "./links.ts";
import type { PlaneSlot } from "./plane-slot.ts";
import type { World } from "./world.ts";

/** What a control plane does not reach, or what does not reach it. */
export const PARTITIONS = [
  "a control plane and the store are cut off from each other",
  "the store does not hear a control plane",
  "a control plane does not hear the store",
  "edges and a control plane are cut off from each other",
  "a control plane does not hear edges",
  "edges do not hear a control plane",
  "one edge and a control plane are cut off from each other",
  "a control plane does not hear another",
] as const;

export type Partition = (typeof PARTITIONS)[number];

/** The links that a partition around a control plane cuts. */
export function partitionOf(world: World, { name }: PlaneSlot, partition: Partition): readonly Link[] {
  const edges = world.slots.map((slot) => slot.name);
  const others = world.planes.map((plane) => plane.name).filter((other) => other !== name);
  switch (partition) {
    case "a control plane and the store are cut off from each other":
      return between(name, STORE);
    case "the store does not hear a control plane":
      return [[name, STORE]];
    case "a control plane does not hear the store":
      return [[STORE, name]];
    case "edges and a control plane are cut off from each other":
      return edges.flatMap((edge) => between(edge, name));
    case "a control plane does not hear edges":
      return edges.map((edge) => [edge, name]);
    case "edges do not hear a control plane":
      return edges.map((edge) => [name, edge]);
    case "one edge and a control plane are cut off from each other":
      return between(world.chance.pick(edges), name);
    case "a control plane does not hear another":
      return [[world.chance.pick(others), name]];
  }
}
