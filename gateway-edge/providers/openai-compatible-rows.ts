import { COMPATIBLE_FAMILIES } from "../../common/providers/compatible-families.ts";
import { createOpenAiProvider } from "./openai-compatible-provider.ts";
import { applyQuirks } from "./openai-compatible-quirks.ts";
import type { CompatibleRow } from "./openai-compatible-table.ts";
import type { Provider } from "./provider.ts";
import { bearerHeaders, under, unusable } from "./shared/locate-upstream.ts";

/** A provider out of a row of the table. */
export function createCompatibleProvider(row: CompatibleRow): Provider {
  return createOpenAiProvider({
    kind: row.kind,
    operations: row.operations,
    families: COMPATIBLE_FAMILIES[row.kind],
    shapeChat: (fields) => ({ ...applyQuirks(fields, row.quirks ?? []), ...row.always }),
    locate: (target, path) => {
      const base = target.baseUrl ?? row.baseUrl;
      if (base === undefined) throw unusable(row.kind, "a deployment needs api_base");
      return { url: under(base, path), headers: bearerHeaders(target) };
    },
  });
}
