import type { ProviderKind } from "../../../../common/providers/shared/provider-kind.ts";
import type { Provider } from "../provider.ts";
import { createOpenAiProvider } from "./create.ts";
import { applyQuirks } from "./quirks.ts";

/** The adapter of a kind that its declaration describes in full. */
export function createCompatibleProvider(declaration: ProviderKind): Provider {
  const { quirks = [], always } = declaration.compatible ?? {};
  return createOpenAiProvider({ declaration, shapeChat: (fields) => ({ ...applyQuirks(fields, quirks), ...always }) });
}
