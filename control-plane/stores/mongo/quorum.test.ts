import { isQuorum, type SetConfig } from "./quorum.ts";

const member = (host: string, more: Partial<SetConfig["members"][number]> = {}) => ({ host, votes: 1, arbiterOnly: false, ...more });
const set = (...members: SetConfig["members"]): SetConfig => ({ version: 1, members });
const three = set(member("a"), member("b"), member("c"));
const answers = (config: SetConfig | undefined, ...hosts: string[]) => hosts.map((host) => ({ host, config }));

test("both secondaries of three members know every write of a majority", () => {
  expect(isQuorum(answers(three, "b", "c"))).toBe(true);
});

test("one secondary is enough where the third member bears no data", () => {
  expect(isQuorum(answers(set(member("a"), member("b"), member("c", { arbiterOnly: true })), "b"))).toBe(true);
});

test.each([
  ["one of two secondaries", answers(three, "b")],
  ["no member", []],
  ["members whose configuration may not be read", answers(undefined, "b", "c")],
  [
    "members beside hidden ones that vote and did not answer",
    answers(set(member("a"), member("b"), member("c"), member("d"), member("e")), "b", "c"),
  ],
  ["a member without a vote beside one with", answers(set(member("a"), member("b"), member("c"), member("d", { votes: 0 })), "b", "d")],
  ["a member of an older configuration", [...answers(three, "b"), ...answers({ ...three, version: 2 }, "c")]],
])("%s may miss a write of a majority", (_name, answered) => {
  expect(isQuorum(answered)).toBe(false);
});
