import { AppError } from "../../../common/errors.ts";
import { chatRequest } from "../../schemas/calls/chat.ts";
import type { Fields } from "../../upstream/providers/provider.ts";

/**
 * Fields of OpenAI's chat that another API does not have. They would be taken for translated ones, although nobody has looked at them:
 * a number of choices or a limit on output that came in this way would be money that nobody checked.
 */
export function refuseChatOnlyFields(request: Fields, own: Fields): void {
  const name = Object.keys(request).find((field) => field in chatRequest.shape && !(field in own));
  if (name === undefined) return;
  throw new AppError("UNSUPPORTED_PARAMETER", `The parameter ${name} is not part of this API.`, { param: name });
}
