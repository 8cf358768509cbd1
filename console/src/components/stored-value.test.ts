import { readStored, writeStored } from "./stored-value.ts";

afterEach(() => {
  jest.restoreAllMocks();
  Reflect.deleteProperty(globalThis, "localStorage");
});

test("a browser that cannot store or read a value says so, and the page goes on", () => {
  const warn = jest.spyOn(console, "warn").mockImplementation(() => undefined);
  const full = () => {
    throw new Error("QuotaExceededError");
  };
  Object.defineProperty(globalThis, "localStorage", { configurable: true, value: { setItem: full, getItem: () => "{not json" } });
  writeStored("logs.columns", ["cost"]);
  expect(readStored("logs.columns")).toBeNull();
  expect(warn.mock.calls.map(([message]) => message)).toEqual([
    expect.stringContaining("logs.columns could not be stored"),
    expect.stringContaining("logs.columns cannot be read"),
  ]);
});
