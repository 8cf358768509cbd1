import type { StreamFormat } from "../../formats/response-format.ts";
import { type FrameOptions, ResponseFrames } from "./frames.ts";
import { isProxied, ProxiedFrames } from "./proxied-frames.ts";
import type { ResponseIdentity } from "./response.ts";

/** The frames of a streamed response. The first part shows whether the events are the provider's own. */
export function responseStream(identity: ResponseIdentity, options: FrameOptions): Required<StreamFormat> {
  let chosen: ResponseFrames | ProxiedFrames | undefined;
  const framesFor = (isOfProvider: boolean) => {
    chosen ??= isOfProvider ? new ProxiedFrames(identity, options) : new ResponseFrames(identity, options);
    return chosen;
  };
  return {
    frames: (part) => framesFor(isProxied(part)).frames(part),
    last: (bill) => framesFor(false).last(bill),
    end: "",
    failed: (error) => framesFor(false).failed(error),
  };
}
