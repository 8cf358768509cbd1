import type { Model } from "../../api/types.ts";
import { hubRows, rowPrice, rowProviders } from "./hub-rows.ts";

const NO_OTHERS = { cachedInput: null, cacheWrite: null, cacheWriteHour: null, audioInput: null, audioOutput: null, webSearch: null };
const model = (name: string, provider: string, input: number | undefined): Model =>
  ({
    name,
    provider: { id: provider, name: provider },
    pricing: input === undefined ? null : { unit: "token", input, output: 2 * input, ...NO_OTHERS },
  }) as Model;

test("a model name is one row for all its deployments: the lowest price with from, each provider once", () => {
  const rows = hubRows([model("a", "x", 3_000_000_000), model("a", "y", 1_000_000_000), model("a", "y", undefined), model("b", "x", 1e9)]);
  expect(rows.map((row) => [row.model.name, rowPrice(row, "input"), rowProviders(row)])).toEqual([
    ["a", "from $1.00", "x, y"],
    ["b", "$1.00", "x"],
  ]);
});
