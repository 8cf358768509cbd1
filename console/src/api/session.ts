import { call, get, post } from "./client.ts";
import type { List, Organization, Team, User } from "./types.ts";

export interface Me {
  user: User;
  organization: Organization | null;
  canVerifyEmail: boolean;
}

export interface SignUp {
  email: string;
  password: string;
  name?: string;
  organizationName?: string;
  inviteToken?: string;
}

const SESSION = "/api/auth/session";

export const readMe = (signal?: AbortSignal): Promise<Me> => get<Me>("/api/auth/me", undefined, signal);

export interface Credentials {
  email: string;
  password: string;
  /** A two-factor code or a recovery code. */
  otp?: string;
}

export const logIn = (credentials: Credentials): Promise<unknown> => post(SESSION, credentials);

/** Creates the account and stores its token in an HttpOnly cookie. For an invited account, the organization it joined becomes active. */
export async function signUp(account: SignUp): Promise<void> {
  const made = await post<{ token: string; organization: Organization }>("/api/auth/signup", account);
  await adoptToken(made.token);
  if (account.inviteToken === undefined) return;
  const { data } = await get<List<Organization>>("/api/gw/organizations/list");
  const joined = data.find(({ id }) => id !== made.organization.id);
  if (joined) await activate(joined.id);
}

/** Joins the team of an invitation and makes its organization the active one. */
export async function acceptInvitation(token: string): Promise<void> {
  const { organization } = await post<{ team: Team; organization: Organization }>("/api/invitations/accept", { token });
  await activate(organization.id);
}

const activate = (id: string): Promise<unknown> => call("PUT", "/api/gw/organizations", { body: { id, active: true } });

/** Exchanges a token, such as that of a password change, for the browser's session cookie. */
export const adoptToken = (token: string): Promise<unknown> => call("POST", SESSION, { headers: { authorization: `Bearer ${token}` } });

export const refreshSession = (): Promise<unknown> => post(`${SESSION}/refresh`);

export const logOut = (): Promise<unknown> => call("DELETE", SESSION);
