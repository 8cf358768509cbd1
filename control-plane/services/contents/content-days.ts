import { AppError } from "../../../common/errors.ts";
import { CONTENT_DAYS_MAX } from "../../domain/call-contents.ts";

/** Refuses a retention that is not 1 to 90 whole days. */
export function checkContentDays(days: number | undefined): void {
  if (days === undefined || (Number.isInteger(days) && days >= 1 && days <= CONTENT_DAYS_MAX)) return;
  throw new AppError("VALIDATION_ERROR", `Prompts and answers are stored for 1 to ${CONTENT_DAYS_MAX} days.`, {
    details: [{ path: "body.logContentDays", message: `must be 1 to ${CONTENT_DAYS_MAX}` }],
  });
}
