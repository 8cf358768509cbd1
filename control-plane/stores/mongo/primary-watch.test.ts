import type { ServerDescription, TopologyDescription } from "mongodb";
import { isWithoutPrimary } from "./primary-watch.ts";

const HOSTS = ["a:1", "b:1", "c:1"];

function set(type: TopologyDescription["type"], members: Partial<ServerDescription>[]): Pick<TopologyDescription, "type" | "servers"> {
  return { type, servers: new Map(members.map((member, place) => [`host-${place}`, { allHosts: HOSTS, ...member } as ServerDescription])) };
}

const unknown = { type: "Unknown", allHosts: [] as string[], primary: null } as const;
const free = { type: "RSSecondary", primary: null } as const;
const follower = { type: "RSSecondary", primary: "a:1" } as const;

test("a set has no primary when a majority of it answers and knows of none", () => {
  expect(isWithoutPrimary(set("ReplicaSetNoPrimary", [unknown, free, free]))).toBe(true);
});

test.each([
  ["a set with its primary", set("ReplicaSetWithPrimary", [{ type: "RSPrimary", primary: "a:1" }, follower, follower])],
  ["a primary that is out of our reach alone", set("ReplicaSetNoPrimary", [unknown, follower, follower])],
  ["a primary that one of the others still follows", set("ReplicaSetNoPrimary", [unknown, follower, free])],
  ["a minority of the set", set("ReplicaSetNoPrimary", [unknown, unknown, free])],
  ["no answer at all", set("ReplicaSetNoPrimary", [unknown, unknown, unknown])],
])("%s is not without a primary", (_name, description) => {
  expect(isWithoutPrimary(description)).toBe(false);
});
