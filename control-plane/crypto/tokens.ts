import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify, SignJWT } from "jose";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import type { Secrets } from "./secrets.ts";

/** Session tokens: JWT, HS256 and nothing else, one hour. Each refresh of a session makes tokens of the next generation. */
export interface Tokens {
  sign(session: { sessionId: string; userId: number; generation?: number }): Promise<{ token: string; expiresAt: number }>;
  verify(token: string): Promise<{ sessionId: string; userId: number; generation: number }>;
}

const ALGORITHM = "HS256";
const ISSUER = "tributary";
const AUDIENCE = "tributary-platform";
const TOKEN_LIFE_MS = 3_600_000;

export function createTokens(secrets: Pick<Secrets, "jwtKeys">, clock: Clock): Tokens {
  return {
    async sign({ sessionId, userId, generation = 0 }) {
      const now = Math.floor(clock.now() / 1000);
      const expires = now + TOKEN_LIFE_MS / 1000;
      const token = await new SignJWT({ sid: sessionId, gen: generation })
        .setProtectedHeader({ alg: ALGORITHM, typ: "JWT" })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(String(userId))
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(expires)
        .sign(secrets.jwtKeys[0]);
      return { token, expiresAt: expires * 1000 };
    },
    async verify(token) {
      try {
        const payload = await payloadOf(token, secrets.jwtKeys, {
          algorithms: [ALGORITHM],
          issuer: ISSUER,
          audience: AUDIENCE,
          typ: "JWT",
          currentDate: new Date(clock.now()),
          requiredClaims: ["sub", "sid", "exp", "nbf"],
        });
        // Tokens of earlier releases have no generation.
        return { sessionId: String(payload["sid"]), userId: Number(payload.sub), generation: Number(payload["gen"] ?? 0) };
      } catch (cause) {
        throw new AppError("UNAUTHORIZED", "The token is not valid or has expired. Log in again.", { cause });
      }
    },
  };
}

/** During a rotation of the root secret a token may be signed with the former key. */
async function payloadOf(token: string, [key, ...others]: Secrets["jwtKeys"], options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, key, options)).payload;
  } catch (error) {
    const [next, ...rest] = others;
    if (next === undefined || !(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    return payloadOf(token, [next, ...rest], options);
  }
}
