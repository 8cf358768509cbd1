import { call, get, post } from "./client.ts";
import type { Organization, Team, User } from "./types.ts";

export interface Me {
  user: User;
  organization: Organization | null;
}

export interface SignUp {
  email: string;
  password: string;
  name?: string;
  organizationName?: string;
}

const SESSION = "/api/auth/session";

export const readMe = (signal?: AbortSignal): Promise<Me> => get<Me>("/api/auth/me", undefined, signal);

export const logIn = (credentials: { email: string; password: string }): Promise<unknown> => post(SESSION, credentials);

/** Makes the account, then puts its token where no script can read it. */
export async function signUp(account: SignUp): Promise<{ team: Team; organization: Organization }> {
  const made = await post<{ token: string; team: Team; organization: Organization }>("/api/auth/signup", account);
  await adoptToken(made.token);
  return made;
}

/** Turns a token in hand, such as a password change gives, into the browser's session. */
export const adoptToken = (token: string): Promise<unknown> => call("POST", SESSION, { headers: { authorization: `Bearer ${token}` } });

export const refreshSession = (): Promise<unknown> => post(`${SESSION}/refresh`);

export const logOut = (): Promise<unknown> => call("DELETE", SESSION);
