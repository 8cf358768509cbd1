import { privacyRules } from "../../../common/training/privacy-rules.ts";
import type { MadeOrigin } from "../../blobs/blob-owners.ts";

/** Whether the federation's organization may read its updates, and what is made of them before the result. */
export const updateOrigin = (settings: Parameters<typeof privacyRules>[0]): MadeOrigin =>
  privacyRules(settings).hidesUpdates ? "hidden" : "made";
