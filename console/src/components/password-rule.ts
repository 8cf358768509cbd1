const LENGTH_MIN = 8;
const LENGTH_MAX = 256;

/** Validates a new password before it is sent; the server validates it again. */
export function passwordProblem(password: string): string | null {
  if (password.length < LENGTH_MIN) return `Use at least ${LENGTH_MIN} characters.`;
  if (password.length > LENGTH_MAX) return `Use at most ${LENGTH_MAX} characters.`;
  return null;
}
