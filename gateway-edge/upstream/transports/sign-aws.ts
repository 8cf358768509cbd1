import { createHash } from "node:crypto";
import { signAws } from "../../../common/aws-signature.ts";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Signing, UpstreamRequest } from "../providers/provider.ts";

type AwsSigning = Extract<Signing, { type: "aws-sigv4" }>;

/** Signs a provider's request for AWS. */
export function createAwsSigner(clock: Clock): (request: UpstreamRequest, signing: AwsSigning) => Promise<UpstreamRequest> {
  return async ({ signing: _done, ...request }, signing) => {
    const { method = "POST", url, headers, body } = request;
    if (typeof body !== "string") {
      throw new AppError("SERVER_ERROR", "Something went wrong on our side.", { internal: "a streamed body cannot be signed" });
    }
    const payload = createHash("sha256").update(body, "utf8").digest("hex");
    return { ...request, headers: signAws({ method, url, headers, payload }, signing, clock.now()) };
  };
}
