/** What replaces a secret in a log line. */
export const REDACTED = "[redacted]";

/** Fields that hold secrets, at any depth of a line. Names are limited, so that every expression takes linear time. */
const SECRET_FIELD =
  /"((?:[\w-]{0,64}(?:authorization|api-?_?key|password|passphrase|secret|cookie|credential)[\w-]{0,64}|token|(?:access|refresh|id|auth|session)_?-?token|x-gw-api-key))":\s{0,8}"(?:[^"\\]|\\.)*"/gi;
const SCHEME = /\b(Bearer|Basic)(\s+)[\w.~+/=-]{6,}/gi;
/** Keys and tokens that are known by how they begin: ours, those of providers, and JSON web tokens. */
const KNOWN_SECRET =
  /\b(?:(?:sk|pk|rk)-[\w-]{6,}|(?:gsk|hf|ghp|gho|ghs|whsec|join|sk_live|sk_test|rk_live)_\w{8,}|xai-\w{8,}|github_pat_\w{8,}|xox[a-z]-[\w-]{8,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{20,}|ya29\.[\w-]{8,}(?:\.[\w-]+)*|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?)/g;
const URL_SECRET = /([?&#;][\w.-]{0,64}(?:key|token|secret|password|signature|sig|credential|code|auth)[\w.-]{0,64}=)[^&\s"'\\#]+/gi;
const URL_USER = /:\/\/[^\s/?#@"']+@/g;

/** A line without credentials of known forms, whatever field or text they are in. */
export function redactCredentials(line: string): string {
  return line
    .replace(SECRET_FIELD, `"$1":"${REDACTED}"`)
    .replace(SCHEME, `$1$2${REDACTED}`)
    .replace(KNOWN_SECRET, REDACTED)
    .replace(URL_USER, `://${REDACTED}@`);
}

/** The same, and without secrets in the query of a URL. */
export function redactLine(line: string): string {
  return redactCredentials(line).replace(URL_SECRET, `$1${REDACTED}`);
}
