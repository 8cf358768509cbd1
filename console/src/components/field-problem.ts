import { ApiError } from "../api/client.ts";

/** What the API said about one field of the body, or about a value inside it; undefined: nothing. */
export function fieldProblem(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const path = `body.${field}`;
  return error.details.find((detail) => detail.path === path || detail.path.startsWith(`${path}.`))?.message;
}
