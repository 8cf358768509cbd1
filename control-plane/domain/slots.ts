// biome-ignore lint/performance/noBarrelFile: edges compute slots too; this is where the control plane's domain finds the function.
export { slotOf } from "../../common/slots.ts";
