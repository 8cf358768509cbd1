import { AppError } from "../../common/errors.ts";

const LENGTH_MIN = 8;
const LENGTH_MAX = 256;

/** Refuses a new password that is too short, too long, the account's own e-mail address, or a common password. */
export function checkNewPassword(given: {
  password: string;
  email: string;
  isCommon: (password: string) => boolean;
  /** Field of the request body. */
  field: "password" | "newPassword";
}): void {
  const problem = problemOf(given);
  if (problem === undefined) return;
  throw new AppError("VALIDATION_ERROR", `The password ${problem}.`, { details: [{ path: `body.${given.field}`, message: problem }] });
}

function problemOf({ password, email, isCommon }: { password: string; email: string; isCommon: (password: string) => boolean }) {
  if (password.length < LENGTH_MIN || password.length > LENGTH_MAX) return `must have ${LENGTH_MIN} to ${LENGTH_MAX} characters`;
  if (password.toLowerCase() === email) return "must not be the e-mail address";
  return isCommon(password) ? "is one of the 10,000 most common; choose another, such as a few words in a row" : undefined;
}
