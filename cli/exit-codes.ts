/** Exit codes for scripts, listed in docs/cli.md. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  canceled: 3,
  notLoggedIn: 4,
  forbidden: 5,
  notFound: 6,
  invalid: 7,
  limit: 8,
  server: 9,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Error codes of exhausted credits, exceeded budgets and blocks, whatever the HTTP status is. */
const LIMIT_CODES = new Set(["QUOTA_EXCEEDED", "TEAM_BLOCKED", "insufficient_quota"]);
const INVALID_STATUSES = new Set([400, 409, 413, 415, 422]);

export function exitCodeOf({ status, code }: { status: number; code: string | undefined }): ExitCode {
  if (status === 402 || status === 429 || (code !== undefined && LIMIT_CODES.has(code))) return EXIT.limit;
  if (status === 401) return EXIT.notLoggedIn;
  if (status === 403) return EXIT.forbidden;
  if (status === 404) return EXIT.notFound;
  if (INVALID_STATUSES.has(status)) return EXIT.invalid;
  if (status >= 500 || status === 408) return EXIT.server;
  return EXIT.failure;
}
