import type { Model } from "../../api/types.ts";
import { answersChat, chatProblem, inputHint, namedModels, playgroundModels } from "./choose-models.ts";

const model = (name: string, type: string, task?: string): Model =>
  ({ name, type, trained: task === undefined ? null : { task } }) as unknown as Model;

const CATALOG = [
  model("river-digits", "moderation", "softmax"),
  model("omni-moderation", "moderation"),
  model("echo", "chat"),
  model("echo", "chat"),
  model("our-vectors", "embedding", "text_embedding"),
  model("our-writer", "completion", "byte_lm"),
];

test("chat models come first, then trained models that answer chat; each name once", () => {
  expect(playgroundModels(CATALOG)).toEqual(["echo", "river-digits", "our-writer"]);
  expect(CATALOG.filter(answersChat)).toHaveLength(4);
});

test("the URL selects models with either parameter", () => {
  expect(namedModels({ models: "a,b" })).toEqual(["a", "b"]);
  expect(namedModels({ model: "a" })).toEqual(["a"]);
  expect(namedModels({})).toEqual([]);
});

test("a model without chat support has a reason; one that is not in the catalog may be an alias", () => {
  expect(chatProblem("our-vectors", CATALOG)).toContain("is of type embedding and does not support chat");
  expect(chatProblem("omni-moderation", CATALOG)).toContain("is of type moderation");
  expect(chatProblem("river-digits", CATALOG)).toBeUndefined();
  expect(chatProblem("an-alias", CATALOG)).toBeUndefined();
});

test("a trained model has an input hint", () => {
  expect(inputHint(model("river-digits", "moderation", "softmax"))).toContain("one row as JSON");
  expect(inputHint(model("echo", "chat"))).toBeUndefined();
});
