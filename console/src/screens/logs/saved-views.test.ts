import { addressOf, forgetViews, readViews, viewsName, withView } from "./saved-views.ts";

test("a view has the filters of the address and nothing else, and replaces one of the same name", () => {
  const first = withView([], " errors ", { status: "error", range: "24h", call: "call_1", live: "off" });
  expect(first).toEqual([{ name: "errors", address: { range: "24h", status: "error" } }]);
  expect(withView(first, "errors", { model: 4 })).toEqual([{ name: "errors", address: { model: "4" } }]);
});

test("showing a view clears the filters that it does not have", () => {
  expect(addressOf({ name: "errors", address: { status: "error" } })).toMatchObject({
    status: "error",
    model: undefined,
    search: undefined,
  });
});

test.each([null, "text", [{ name: 1 }], [{ name: "x", address: { status: 4 } }], [null]])("%j in storage is no view", (stored) => {
  expect(readViews(stored)).toEqual([]);
});

test("views belong to a user, and are gone after the log-out with those that older versions stored for nobody", () => {
  const removed: string[] = [];
  const methods = { removeItem: (name: string) => void removed.push(name) };
  const storage = Object.assign(Object.create(methods), { [viewsName(7)]: "[]", "logs.views": "[]", "logs.columns": "[]" }) as Storage;
  forgetViews(storage);
  expect([viewsName(7), removed]).toEqual(["logs.views:7", ["logs.views:7", "logs.views"]]);
});
