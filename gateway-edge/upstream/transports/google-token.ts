import { createHash } from "node:crypto";
import type { JWT } from "google-auth-library";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Fields, Signing, UpstreamRequest } from "../providers/provider.ts";

export interface GoogleTokensOptions {
  readonly clock: Clock;
  /** For Google's token endpoint; the platform's own fetch unless a test replaces it. */
  readonly fetch?: typeof fetch;
}

/** Adds the bearer token of a service account, or of the machine, to a request. */
export type SignForGoogle = (request: UpstreamRequest, signing: Extract<Signing, { type: "google" }>) => Promise<UpstreamRequest>;

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const TIMEOUT_MS = 10_000;
/**
 * Tokens are valid for an hour. Early enough that a long call does not start with an expiring token, and that a failed refresh can be
 * repeated.
 */
const REFRESH_BEFORE_MS = 5 * 60_000;
/** A token this close to its expiry is not used even when no new one is available. */
const UNUSABLE_BEFORE_MS = 30_000;
const IDENTITIES_MAX = 1000;

interface Token {
  readonly text: string;
  readonly expiresAt: number;
}

interface Identity {
  token: Token | undefined;
  /** The one request for a new token; all calls that need it share it. */
  pending: Promise<Token> | undefined;
}

export function createGoogleTokens({ clock, fetch }: GoogleTokensOptions): SignForGoogle {
  const identities = new Map<string, Identity>();

  const tokenOf = async (credentials: Fields | undefined): Promise<string> => {
    const identity = identityOf(identities, credentials);
    const left = (identity.token?.expiresAt ?? 0) - clock.now();
    if (identity.token && left > REFRESH_BEFORE_MS) return identity.token.text;
    identity.pending ??= mint(credentials, { clock, fetch }).finally(() => {
      identity.pending = undefined;
    });
    try {
      identity.token = await identity.pending;
    } catch (cause) {
      // The old token is still valid for a while: an outage of Google's token service is not one of the gateway.
      if (!identity.token || left <= UNUSABLE_BEFORE_MS) throw noToken(cause);
    }
    return identity.token.text;
  };

  return async (request, { credentials }) => ({
    ...request,
    headers: { ...request.headers, authorization: `Bearer ${await tokenOf(credentials)}` },
  });
}

function identityOf(identities: Map<string, Identity>, credentials: Fields | undefined): Identity {
  // By a digest of all fields: a rotated key is another identity, and keys of this map may appear in a heap dump.
  const key = createHash("sha256")
    .update(JSON.stringify(credentials ?? null))
    .digest("base64");
  const known = identities.get(key);
  if (known) return known;
  const oldest = identities.keys().next();
  if (identities.size >= IDENTITIES_MAX && !oldest.done) identities.delete(oldest.value);
  const identity: Identity = { token: undefined, pending: undefined };
  identities.set(key, identity);
  return identity;
}

/** A new token each time: the library caches tokens by the system clock, the gateway by the injected one. */
async function mint(
  credentials: Fields | undefined,
  { clock, fetch }: { clock: Clock; fetch: typeof globalThis.fetch | undefined },
): Promise<Token> {
  const transporterOptions = { timeout: TIMEOUT_MS, ...(fetch === undefined ? {} : { fetchImplementation: fetch }) };
  const askedAt = clock.now();
  const client = await clientFor(credentials, transporterOptions);
  const { token } = await client.getAccessToken();
  if (!token) throw new Error("Google answered without a token");
  const lifeMs = (client.credentials.expiry_date ?? 0) - askedAt;
  return { text: token, expiresAt: askedAt + Math.max(0, lifeMs) };
}

type Client = Pick<JWT, "getAccessToken" | "credentials">;

/** Only kinds that are nothing but a key: others name commands, files and URLs that the library would run, read and call. */
async function clientFor(credentials: Fields | undefined, transporterOptions: object): Promise<Client> {
  // Loaded with the first token: most edges never need one.
  const { GoogleAuth, JWT, UserRefreshClient } = await import("google-auth-library");
  if (credentials === undefined) {
    const auth = new GoogleAuth({ scopes: SCOPE, clientOptions: { transporterOptions } });
    return (await auth.getClient()) as unknown as Client;
  }
  const { type, client_email, private_key, private_key_id, client_id, client_secret, refresh_token } = credentials as Record<
    string,
    string
  >;
  if (client_email && private_key && (type === undefined || type === "service_account")) {
    return new JWT({
      email: client_email,
      key: private_key,
      ...(private_key_id ? { keyId: private_key_id } : {}),
      scopes: [SCOPE],
      transporterOptions,
    });
  }
  if (client_id && client_secret && refresh_token && type === "authorized_user") {
    return new UserRefreshClient({ clientId: client_id, clientSecret: client_secret, refreshToken: refresh_token, transporterOptions });
  }
  throw new Error(`credentials of the type ${String(type)} are not taken`);
}

/** Without the cause: the library's error contains the request, with the signed assertion in it. */
function noToken(cause: unknown): AppError {
  const internal = `google token: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { internal });
}
