import { AppError } from "../../../common/errors.ts";
import { chatRequest } from "../../schemas/calls/chat.ts";
import type { Fields } from "../../upstream/providers/provider.ts";

/**
 * Refuses fields of OpenAI's chat that this dialect does not have. They would pass for translated fields without any validation: `n` or an
 * output limit given this way would cost money that was never checked.
 */
export function refuseChatOnlyFields(request: Fields, own: Fields): void {
  const name = Object.keys(request).find((field) => field in chatRequest.shape && !(field in own));
  if (name === undefined) return;
  throw new AppError("UNSUPPORTED_PARAMETER", `The parameter ${name} is not part of this API.`, { param: name });
}
