// Records beside an account: its links in mails.

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
