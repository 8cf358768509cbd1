import { echo } from "./echo.ts";
import type { Provider } from "./provider.ts";

/** Every provider adapter, by kind. The only list; nothing else in the edge knows a provider's name. */
export const providers: ReadonlyMap<string, Provider> = new Map([echo].map((provider) => [provider.kind, provider]));
