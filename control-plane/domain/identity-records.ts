// Records beside an account: its links in mails and its sign-ins at an issuer.

/** A requested password reset. */
export interface PasswordReset {
  /** Keyed hash of the token that was mailed. */
  id: string;
  userId: number;
  expiresAt: number;
}

/** A mailed link that verifies the e-mail address of an account. */
export interface EmailVerification {
  /** Keyed hash of the token that was mailed. */
  id: string;
  userId: number;
  expiresAt: number;
}

/** A person at an issuer of OpenID Connect who signs in to an account. */
export interface Identity {
  /** Hash of issuer and subject. */
  id: string;
  issuer: string;
  /** The issuer's id of the person, which never changes; an e-mail address may. */
  subject: string;
  userId: number;
  createdAt: number;
}

/** A sign-in by OpenID Connect that opened a session, so that it cannot open another one. */
export interface FinishedSignIn {
  /** Keyed hash of its state. */
  id: string;
  expiresAt: number;
}
