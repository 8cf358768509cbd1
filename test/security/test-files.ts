/** Test files, and a test, that several items name. */
export const RUNNING = "test/security/running.test.ts";
export const HOSTILE = "test/contract/hostile-input.test.ts";
export const BROWSER = "test/browser/console.test.ts";
export const NODE_PROXY = "gateway-edge/server/http/training/node-proxy.test.ts";
export const INFERENCE = "test/contract/inference-auth.test.ts";
export const ACCOUNT = "test/contract/operations-account.test.ts";
export const GENERAL = "test/contract/operations-general.test.ts";
export const LOGIN = "test/contract/login-attempts.test.ts";
export const INVITATIONS = "test/contract/invitations.test.ts";
export const CANARIES = "test/e2e/canaries.test.ts";
export const HOPS = "test/e2e/internal-hops.test.ts";
export const EXPOSED = "test/e2e/exposed.test.ts";
export const NO_SECRET = "no secret and no customer's text is at rest, in any log at debug level, or in any answer but its own";
