import { COMPATIBLE_FAMILIES } from "../../../../common/providers/compatible-families.ts";
import type { Provider } from "../provider.ts";
import { bearerHeaders, under, unusable } from "../shared/locate-upstream.ts";
import { createOpenAiProvider } from "./create.ts";
import { applyQuirks } from "./quirks.ts";
import type { CompatibleRow } from "./table.ts";

/** A provider from a row of the table. */
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
