import { semanticSetting, semanticValues, sourceText, thresholdProblem } from "./semantic-values.ts";

test.each([
  null,
  { enabled: true, threshold: 0.95, embeddingModel: "embed" },
  { enabled: true, threshold: null, embeddingModel: null },
  { enabled: false, threshold: null, embeddingModel: null },
])("a setting that is not changed is sent as it was: %j", (setting) => {
  expect(semanticSetting(semanticValues(setting))).toEqual(setting);
});

test("an emptied field is the operator's again, and the operator's mode takes all fields with it", () => {
  const values = semanticValues({ enabled: true, threshold: 0.95, embeddingModel: "embed" });
  expect(semanticSetting({ ...values, threshold: "", embeddingModel: " " })).toEqual({
    enabled: true,
    threshold: null,
    embeddingModel: null,
  });
  expect(semanticSetting({ ...values, mode: "operator" })).toBeNull();
});

test("the source of each value is named", () => {
  expect(sourceText(null)).toBe("Source: the operator's cache settings.");
  expect(sourceText({ enabled: true, threshold: 0.9, embeddingModel: null })).toBe(
    "Source: this organization; embedding model: the operator's cache settings.",
  );
  expect(sourceText({ enabled: false, threshold: null, embeddingModel: null })).toBe("Source: this organization.");
});

test("a threshold is above 0 and at most 1", () => {
  expect([0, 0.5, 1, 1.1, "" as const].map((threshold) => thresholdProblem(threshold) === null)).toEqual([false, true, true, false, true]);
});
