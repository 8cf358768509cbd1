import { AppError } from "../../../../common/errors.ts";

/** The value of a JSON text; undefined when it is not valid. */
export function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** An error for a request that Google does not support, with the field at fault. */
export function invalid(message: string, param: string): AppError {
  return new AppError("INVALID_REQUEST", message, { param });
}
