import { inSeveral, WrittenDocuments } from "./written-documents.ts";

test("every written document is counted once, whichever command wrote it, and only while it is counted", () => {
  const documents = new WrittenDocuments();
  const send = (commandName: string, command: object) => documents.onCommand({ commandName, command });
  send("insert", { insert: "usage", documents: [{ _id: "before" }] });
  documents.begin();
  send("insert", { insert: "usage", documents: [{ _id: "a" }, { _id: "b" }] });
  send("update", { update: "ledgerHead", updates: [{ q: { _id: "17", epoch: 3 }, u: {} }] });
  send("update", { update: "ledgerHead", updates: [{ q: { _id: "17", epoch: 3 }, u: {} }] });
  send("delete", { delete: "leases", deletes: [{ q: { _id: "c" } }] });
  send("findAndModify", { findAndModify: "counters", query: { _id: "d" } });
  send("find", { find: "usage", filter: { _id: "read" } });
  expect(documents.end()).toEqual(["usage a", "usage b", "ledgerHead 17", "leases c", "counters d"]);
  send("insert", { insert: "usage", documents: [{ _id: "after" }] });
  expect(documents.end()).toEqual([]);
});

test("a write that names no document is refused: it may be one of any plane", () => {
  const documents = new WrittenDocuments();
  documents.begin();
  const update = { update: "usage", updates: [{ q: { organizationId: "org_1" }, u: {} }] };
  expect(() => documents.onCommand({ commandName: "update", command: update })).toThrow("names no document");
});

test("what several planes wrote is found", () => {
  expect(inSeveral([["usage a", "planes 1"], ["usage b", "planes 2"], ["usage b"]])).toEqual(["usage b"]);
  expect(inSeveral([["usage a", "usage a"], ["usage b"]])).toEqual([]);
});
