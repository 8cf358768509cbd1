import { registerEvaluate } from "../../sdk.ts";

registerEvaluate(() => 0.5);
