/** The client that the gateway is at an issuer of OpenID Connect. */
export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** As the sign-in page shows it. */
  name: string;
}

/** Values made for one sign-in: only the browser that started it has them, sealed in its cookie. */
export interface SignInSecrets {
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** The issuer's word on the person who signed in. */
export interface Claims {
  issuer: string;
  subject: string;
  email: string | undefined;
  isEmailVerified: boolean;
  name: string | undefined;
}

/** An issuer of OpenID Connect. */
export interface OidcIssuer {
  /** Its name in URLs. */
  readonly id: string;
  /** Its name on the sign-in page. */
  readonly name: string;
  /** Where the browser signs in. */
  authorizationUrl(secrets: SignInSecrets): Promise<string>;
  /** Exchanges the code of a callback, and checks the answer. `query` is what the issuer added to the callback's address. */
  claimsOf(query: string, secrets: SignInSecrets): Promise<Claims>;
}

/**
 * Why a sign-in opens no session; the sign-in page has a text for each.
 * denied: canceled at the issuer; expired: another browser, too late or used before; unavailable: the issuer did not answer; invalid: its
 * answer is not valid; unverified: it does not confirm the address; unlinked: an account with this address exists that is not verified;
 * limited: too many from this client address; disabled: by a platform admin.
 */
export type SignInRefusal = "denied" | "expired" | "unavailable" | "invalid" | "unverified" | "unlinked" | "limited" | "disabled";

export class SignInRefused extends Error {
  readonly reason: SignInRefusal;

  constructor(reason: SignInRefusal, cause?: unknown) {
    super(`the sign-in is refused: ${reason}`, { cause });
    this.name = "SignInRefused";
    this.reason = reason;
  }
}
