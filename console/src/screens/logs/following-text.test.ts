import { follow } from "./following-text.ts";

test("an input keeps what was typed after its own change, and takes a change from elsewhere", () => {
  const typing = { text: "nightly", sent: "night" };
  expect(follow(typing, "night")).toBe(typing);
  expect(follow(typing, "")).toEqual({ text: "", sent: "" });
  expect(follow({ text: "", sent: "" }, "weekly")).toEqual({ text: "weekly", sent: "weekly" });
});
