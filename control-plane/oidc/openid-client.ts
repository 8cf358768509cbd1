import * as client from "openid-client";
import type { Clock } from "../../common/clock.ts";
import { operatorFetch } from "../../common/operator-fetch.ts";
import { type Claims, type OidcIssuer, type OidcSettings, type SignInRefusal, SignInRefused } from "./issuer.ts";

/** Part of the callback's address, which operators register at the issuer, so it never changes. */
const ID = "sso";
const SCOPE = "openid email profile";
/** For each request; a sign-in makes up to four, and the edge waits 20 s for it. */
const TIMEOUT_SECONDS = 4;
const CLOCK_TOLERANCE_SECONDS = 30;
/** How long the issuer's metadata is used before it is read again. */
const METADATA_LIFE_MS = 3_600_000;
const SUBJECT_LENGTH_MAX = 255;

/** Sign-in by OpenID Connect: authorization code flow with PKCE, state and nonce. ID tokens are checked by signature too. */
export function createOidcIssuer(settings: OidcSettings, { clock, publicUrl }: { clock: Clock; publicUrl: string }): OidcIssuer {
  const redirectUri = `${publicUrl}/api/auth/oidc/${ID}/callback`;
  const configuration = cachedConfiguration(settings, clock);
  return {
    id: ID,
    name: settings.name,
    async authorizationUrl({ state, nonce, codeVerifier }) {
      const challenge = await client.calculatePKCECodeChallenge(codeVerifier);
      const parameters = { redirect_uri: redirectUri, scope: SCOPE, state, nonce };
      const pkce = { code_challenge: challenge, code_challenge_method: "S256" };
      return client.buildAuthorizationUrl(await configuration(), { ...parameters, ...pkce }).href;
    },
    async claimsOf(query, { state, nonce, codeVerifier }) {
      const found = await configuration();
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier, idTokenExpected: true };
      try {
        const tokens = await client.authorizationCodeGrant(found, new URL(`?${query}`, redirectUri), checks);
        const inToken = tokens.claims();
        if (!inToken || inToken.sub.length > SUBJECT_LENGTH_MAX) throw new SignInRefused("invalid", "the ID token has no usable subject");
        // Issuers may leave the address out of the ID token; then it is in the answer of the userinfo endpoint.
        const isComplete = inToken["email"] !== undefined || found.serverMetadata().userinfo_endpoint === undefined;
        const more = isComplete ? {} : await client.fetchUserInfo(found, tokens.access_token, inToken.sub);
        return claimsOf({ ...more, ...inToken });
      } catch (thrown) {
        throw thrown instanceof SignInRefused ? thrown : new SignInRefused(reasonOf(thrown), thrown);
      }
    },
  };
}

/** The issuer's metadata. Sign-ins at the same time share one request, and a failed one is repeated by the next sign-in. */
function cachedConfiguration({ issuer, clientId, clientSecret }: OidcSettings, clock: Clock): () => Promise<client.Configuration> {
  const server = new URL(issuer);
  // The settings refuse an http issuer where the deployment is exposed.
  const insecure = server.protocol === "http:" ? [client.allowInsecureRequests] : [];
  let cached: { at: number; configuration: Promise<client.Configuration> } | undefined;
  return () => {
    const now = clock.monotonicMs();
    if (cached && now - cached.at < METADATA_LIFE_MS) return cached.configuration;
    const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE_SECONDS };
    const execute = [...insecure, client.enableNonRepudiationChecks];
    const options = { timeout: TIMEOUT_SECONDS, execute, [client.customFetch]: operatorFetch as client.CustomFetch };
    const configuration = client
      .discovery(server, clientId, metadata, client.ClientSecretBasic(clientSecret), options)
      .catch((cause: unknown) => {
        cached = undefined;
        throw new SignInRefused("unavailable", cause);
      });
    cached = { at: now, configuration };
    return configuration;
  };
}

function claimsOf(claims: Readonly<Record<string, unknown>>): Claims {
  const text = (name: string) => (typeof claims[name] === "string" ? claims[name] : undefined);
  return {
    issuer: text("iss") ?? "",
    subject: text("sub") ?? "",
    email: text("email")?.toLowerCase(),
    // Only the boolean counts, as the standard has it.
    isEmailVerified: claims["email_verified"] === true,
    name: text("name"),
  };
}

function reasonOf(thrown: unknown): SignInRefusal {
  if (thrown instanceof client.AuthorizationResponseError) {
    return ["server_error", "temporarily_unavailable"].includes(thrown.error) ? "unavailable" : "denied";
  }
  // The issuer could not be reached: fetch fails with a TypeError, and a time limit has its own code.
  const isAway = thrown instanceof TypeError || (thrown instanceof client.ClientError && thrown.code === "OAUTH_TIMEOUT");
  return isAway ? "unavailable" : "invalid";
}
