import { execFileSync } from "node:child_process";

/** What a control plane can be cut off from. */
export type Cut = "store" | "edges" | "planes" | "everything";

/** A network namespace for each control plane of a cluster, and a bridge to this one, where store and edges are. Needs root. */
export interface PlaneNetworks {
  /** Where the store listens. */
  readonly storeHost: string;
  hostOf(plane: number): string;
  /** The command that runs a program on the machine of a plane. */
  launcherOf(plane: number): readonly string[];
  /** Packets that the plane sends there are dropped without a word; those that it receives arrive. */
  cut(plane: number, from: Cut): void;
  /** Packets that are sent to the plane from here are dropped without a word; those that it sends arrive. */
  silence(plane: number): void;
  heal(plane: number): void;
  close(): void;
}

/** Addresses of a private network that exists only between these namespaces. */
const PREFIX = "10.213.7.";
const [EDGES, STORE] = [`${PREFIX}1`, `${PREFIX}2`];
const NO_CARD = "02:00:00:00:00:01";
const hostOf = (plane: number) => `${PREFIX}${plane + 11}`;

const ip = (...words: string[]) => void execFileSync("ip", words, { stdio: ["ignore", "ignore", "pipe"] });

/** Whether this process may make network namespaces. */
export function hasNetworks(): boolean {
  try {
    const name = `tributary-${process.pid}`;
    ip("netns", "add", name);
    ip("netns", "del", name);
    return true;
  } catch {
    return false;
  }
}

export function openPlaneNetworks(planes: number): PlaneNetworks {
  const [bridge, others] = [`tb${process.pid}`, Array.from({ length: planes }, (_, plane) => plane)];
  const spaceOf = (plane: number) => `tributary-${process.pid}-${plane}`;
  const made: (() => void)[] = [];
  const make = (words: string[], undo?: string[]) => {
    ip(...words);
    if (undo) made.unshift(() => ip(...undo));
  };
  const close = () => {
    for (const undo of made.splice(0)) undo();
  };
  try {
    make(["link", "add", bridge, "type", "bridge"], ["link", "del", bridge]);
    for (const address of [EDGES, STORE]) make(["addr", "add", `${address}/24`, "dev", bridge]);
    make(["link", "set", bridge, "up"]);
    for (const plane of others) {
      const [space, here] = [spaceOf(plane), `tb${process.pid}v${plane}`];
      make(["netns", "add", space], ["netns", "del", space]);
      make(["link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", space]);
      make(["link", "set", here, "master", bridge, "up"]);
      make(["-n", space, "addr", "add", `${hostOf(plane)}/24`, "dev", "eth0"]);
      for (const device of ["lo", "eth0"]) make(["-n", space, "link", "set", device, "up"]);
    }
  } catch (error) {
    close();
    throw error;
  }
  const targets = (plane: number): Record<Cut, readonly string[]> => {
    const peers = others.filter((other) => other !== plane).map(hostOf);
    return { store: [STORE], edges: [EDGES], planes: peers, everything: [STORE, EDGES, ...peers] };
  };
  const healing = new Map<number, (() => void)[]>();
  const drop = (plane: number, { space, device }: { space: readonly string[]; device: string }, address: string) => {
    // The packets go to a network card that does not exist, so that the sender learns nothing, as from a route it would.
    ip(...space, "neigh", "replace", address, "lladdr", NO_CARD, "dev", device, "nud", "permanent");
    const undo = () => ip(...space, "neigh", "del", address, "dev", device);
    healing.set(plane, [...(healing.get(plane) ?? []), undo]);
  };
  return {
    storeHost: STORE,
    hostOf,
    launcherOf: (plane) => ["ip", "netns", "exec", spaceOf(plane)],
    cut: (plane, from) => {
      for (const address of targets(plane)[from]) drop(plane, { space: ["-n", spaceOf(plane)], device: "eth0" }, address);
    },
    silence: (plane) => drop(plane, { space: [], device: bridge }, hostOf(plane)),
    heal: (plane) => {
      for (const undo of healing.get(plane) ?? []) undo();
      healing.delete(plane);
    },
    close: () => {
      for (const undo of [...healing.values()].flat()) undo();
      healing.clear();
      close();
    },
  };
}
