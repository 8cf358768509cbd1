import { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { admit } from "./admit.ts";

const asked = { model: "echo", alternatives: [], exists: () => true, mayUse: () => true };
const callerWith = (scopes: string[] | undefined) => Caller.fromPartial({ status: "active", ...(scopes && { scopes: { names: scopes } }) });

test("a key that lost the scope for calls makes none, also not in work that was queued before", () => {
  expect(() => admit({ ...asked, caller: callerWith(["train"]) })).toThrow(expect.objectContaining({ code: "MODEL_NOT_ALLOWED" }));
  for (const scopes of [undefined, ["inference"], ["inference", "train"]]) {
    expect(() => admit({ ...asked, caller: callerWith(scopes) })).not.toThrow();
  }
});
