import type { Model } from "../../api/types.ts";
import { matchesFilter, readHubFilter } from "./hub-filter.ts";

const model = (change: object) =>
  ({
    name: "small-chat",
    description: "",
    provider: { id: "p1", name: "River" },
    type: "chat",
    capabilities: ["vision"],
    trained: null,
    contextWindow: 8000,
    pricing: { unit: "token", input: 150_000_000 },
    ...change,
  }) as unknown as Model;
const shows = (address: object, change: object = {}) => matchesFilter(model(change), readHubFilter(address as Record<string, unknown>));

test("every filter of the URL applies, and an invalid one is ignored", () => {
  expect(shows({})).toBe(true);
  expect([shows({ search: "RIVER" }), shows({ search: "lake" })]).toEqual([true, false]);
  expect([shows({ type: "chat" }), shows({ type: "image" })]).toEqual([true, false]);
  expect([shows({ capability: "vision" }), shows({ capability: "tools" })]).toEqual([true, false]);
  expect([shows({ context: 8000 }), shows({ context: 8001 })]).toEqual([true, false]);
  expect(shows({ price: "cheap" })).toBe(true);
});

test("a price limit excludes models without a price per token", () => {
  expect([shows({ price: 0.15 }), shows({ price: 0.1 })]).toEqual([true, false]);
  expect(shows({ price: 5 }, { pricing: null })).toBe(false);
  expect(shows({ price: 5 }, { pricing: { unit: "image", input: 0 } })).toBe(false);
});

test("the trained filter finds trained models", () => {
  expect([shows({ capability: "trained" }), shows({ capability: "trained" }, { trained: { version: 1 } })]).toEqual([false, true]);
});
