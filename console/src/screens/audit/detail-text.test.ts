import { detailText } from "./detail-text.ts";

test("details are one line of names and values, cut where it gets long", () => {
  expect(detailText({ name: "Default", rpm: 60, models: ["echo"] })).toBe('name: Default, rpm: 60, models: ["echo"]');
  expect(detailText({})).toBe("");
  expect(detailText(null)).toBe("");
  expect(detailText({ text: "x".repeat(1_000) })).toHaveLength(241);
});
