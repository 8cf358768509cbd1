import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import type { CallContext, ServiceHandlers } from "../../../common/grpc/server.ts";
import { FinishOidcResponse, type IdentityServiceService } from "../../../proto/gen/tributary/identity/v1/identity.ts";
import type { User } from "../../domain/records.ts";
import { type Claims, type OidcIssuer, SignInRefused } from "../../oidc/issuer.ts";
import type { Transaction } from "../../stores/store.ts";
import { accountScopes, createAccount, newOrganizationId, openSession } from "../../writes/accounts.ts";
import { clientOf, limitByAddress } from "../client.ts";
import type { ControlDeps } from "../deps.ts";
import { date } from "../messages.ts";
import { type WriteScope, write } from "../write.ts";
import { signFor } from "./sessions.ts";

type Handlers = ServiceHandlers<typeof IdentityServiceService>;

const FLOW_LIFE_MS = 10 * 60_000;
const SECRET_BYTES = 32;
const NAME_LENGTH_MAX = 100;
const ADDRESS = /^[^\s@]+@[^\s@]+$/;
const ADDRESS_LENGTH_MAX = 254;

export function oidcHandlers(deps: ControlDeps): Pick<Handlers, "listOidcProviders" | "startOidc" | "finishOidc"> {
  return {
    listOidcProviders: async () => ({ providers: deps.oidc ? [{ id: deps.oidc.id, name: deps.oidc.name }] : [] }),
    startOidc: startOidc(deps),
    finishOidc: finishOidc(deps),
  };
}

/** A sign-in between its start and its callback. The browser has it sealed, in a cookie. */
const flowSchema = z.object({
  purpose: z.literal("oidc"),
  provider: z.string(),
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  next: z.string(),
  expiresAt: z.number(),
});
type Flow = z.infer<typeof flowSchema>;

const startOidc =
  (deps: ControlDeps): Handlers["startOidc"] =>
  async ({ provider, next }) => {
    const issuer = requireIssuer(deps, provider);
    const secret = () => deps.random.bytes(SECRET_BYTES).toString("base64url");
    const expiresAt = deps.clock.now() + FLOW_LIFE_MS;
    const flow: Flow = { purpose: "oidc", provider, state: secret(), nonce: secret(), codeVerifier: secret(), next, expiresAt };
    try {
      const authorizationUrl = await issuer.authorizationUrl(flow);
      return { authorizationUrl, flow: deps.secrets.seal(Buffer.from(JSON.stringify(flow))), expiresAt: date(expiresAt) };
    } catch (thrown) {
      return { authorizationUrl: "", flow: "", expiresAt: undefined, refusal: refusalOf(deps, thrown) };
    }
  };

const finishOidc =
  (deps: ControlDeps): Handlers["finishOidc"] =>
  async (request, context) => {
    const issuer = requireIssuer(deps, request.provider);
    try {
      const flow = openFlow(deps, request);
      limitByAddress(deps, context, "oidcSignIn");
      return await signIn(deps, context, { flow, claims: await issuer.claimsOf(request.query, flow) });
    } catch (thrown) {
      return { token: "", expiresAt: undefined, next: "", refusal: refusalOf(deps, thrown) };
    }
  };

function requireIssuer({ oidc }: ControlDeps, provider: string): OidcIssuer {
  if (oidc?.id !== provider) throw new AppError("NOT_FOUND", "There is no such sign-in provider. GET /api/auth/oidc lists them.");
  return oidc;
}

/** What the sign-in page says of a refusal. An unexpected error is thrown again. */
function refusalOf(deps: ControlDeps, thrown: unknown): string {
  if (thrown instanceof AppError && thrown.code === "RATE_LIMIT_EXCEEDED") return "limited";
  if (!(thrown instanceof SignInRefused)) throw thrown;
  deps.logger.warn({ reason: thrown.reason, cause: String(thrown.cause ?? "") }, "a sign-in by OpenID Connect was refused");
  return thrown.reason;
}

/** The flow of the browser's cookie. It has to be the one that this callback answers. */
function openFlow(deps: ControlDeps, { flow: sealed, provider, query }: { flow: string; provider: string; query: string }): Flow {
  let flow: Flow;
  try {
    flow = flowSchema.parse(JSON.parse(deps.secrets.open(sealed).toString("utf8")));
  } catch (cause) {
    throw new SignInRefused("expired", cause);
  }
  const [given, expected] = [Buffer.from(new URLSearchParams(query).get("state") ?? ""), Buffer.from(flow.state)];
  const isSame = given.length === expected.length && timingSafeEqual(given, expected);
  if (!isSame || flow.provider !== provider || flow.expiresAt <= deps.clock.now()) throw new SignInRefused("expired");
  return flow;
}

async function signIn(
  deps: ControlDeps,
  context: CallContext,
  { flow, claims }: { flow: Flow; claims: Claims },
): Promise<FinishOidcResponse> {
  const id = identityId(claims);
  // A new account gets a random password; its user can set one with a reset link. Hashed before the transaction: it takes long.
  const isKnown = (await deps.store.get("identities", id)) !== undefined;
  const passwordHash = isKnown ? "" : await deps.passwords.hash(deps.random.bytes(SECRET_BYTES).toString("base64url"));
  const newOrganization = newOrganizationId(deps.store, deps);
  const scopes = isKnown ? "identity" : accountScopes(deps.store, newOrganization);
  return write<FinishOidcResponse>(deps, context, { actor: undefined, codec: FinishOidcResponse, scopes }, async (scope) => {
    const { tx, now, audit } = scope;
    const finished = { id: deps.secrets.tokenHash(flow.state), expiresAt: flow.expiresAt };
    if (await tx.get("finishedSignIns", finished.id)) throw new SignInRefused("expired", "the callback was used before");
    await tx.insert("finishedSignIns", finished);
    const found = await linkedUser(tx, id);
    const user = found ?? (await linkOrCreate({ deps, context, scope }, { id, claims, passwordHash, organizationId: newOrganization }));
    if (user.disabledAt !== undefined) throw new SignInRefused("disabled");
    await tx.put("users", { ...user, lastLoginAt: now });
    const session = await openSession(tx, deps, user, clientOf(context));
    const { id: actorId, organizationId } = user;
    const details = { userId: actorId, method: "oidc", issuer: claims.issuer };
    await audit({ action: "session.open", target: session.id, organizationId, actorId, details });
    return { ...(await signFor(deps, session)), next: flow.next };
  });
}

function identityId({ issuer, subject }: Claims): string {
  return createHash("sha256")
    .update(JSON.stringify([issuer, subject]))
    .digest("hex");
}

async function linkedUser(tx: Transaction, id: string): Promise<User | undefined> {
  const identity = await tx.get("identities", id);
  return identity && (await tx.get("users", identity.userId));
}

/**
 * Links an account that has the same address, or creates one. An account is linked only if both sides have verified the address: the issuer
 * says so, and the account's own user did. Otherwise a stranger could sign up with the address of another person beforehand, and would then
 * share the account with that person.
 */
async function linkOrCreate(
  { deps, context, scope }: { deps: ControlDeps; context: CallContext; scope: WriteScope },
  { id, claims, ...created }: { id: string; claims: Claims; passwordHash: string; organizationId: string },
): Promise<User> {
  const { tx, now, audit } = scope;
  const email = requireAddress(claims);
  const known = await tx.find("users", "byEmail", [email]);
  if (known && known.emailVerifiedAt === undefined) throw new SignInRefused("unlinked");
  if (!known) limitByAddress(deps, context, "signUp");
  const user = known ?? (await createOidcAccount(deps, tx, { email, claims, ...created }));
  const { issuer, subject } = claims;
  await tx.put("identities", { id, issuer, subject, userId: user.id, createdAt: now });
  const { id: actorId, organizationId } = user;
  const action = known ? "user.oidc.link" : "user.signup";
  await audit({ action, target: String(actorId), organizationId, actorId, details: { method: "oidc", issuer } });
  return user;
}

function requireAddress({ email, isEmailVerified }: Claims): string {
  if (email === undefined || !isEmailVerified) throw new SignInRefused("unverified");
  if (email.length > ADDRESS_LENGTH_MAX || !ADDRESS.test(email)) throw new SignInRefused("invalid", "the e-mail address is not valid");
  return email;
}

async function createOidcAccount(
  deps: ControlDeps,
  tx: Transaction,
  { email, claims, ...created }: { email: string; claims: Claims; passwordHash: string; organizationId: string },
): Promise<User> {
  const given = claims.name?.replace(/\p{C}/gu, "").trim().slice(0, NAME_LENGTH_MAX);
  const name = given || (email.split("@")[0] ?? email);
  const { user } = await createAccount(tx, deps, {
    email,
    name,
    organizationName: `${name}'s organization`,
    ...created,
    role: "user",
    grant: deps.config.signupGrantNanoUsd,
    isEmailVerified: true,
  });
  return user;
}
