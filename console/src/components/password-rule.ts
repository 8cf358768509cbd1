const LENGTH_MIN = 8;
const LENGTH_MAX = 256;

/** What is wrong with a new password, told before it is sent; the server has the last word. */
export function passwordProblem(password: string): string | null {
  if (password.length < LENGTH_MIN) return `${LENGTH_MIN - password.length} more characters are needed.`;
  if (password.length > LENGTH_MAX) return `At most ${LENGTH_MAX} characters.`;
  return null;
}
