import type { Clock } from "../../common/clock.ts";
import { AppError, type ErrorCode } from "../../common/errors.ts";
import type { CallContext } from "../../common/grpc/server.ts";
import { newId } from "../../common/ids.ts";
import { silentLogger } from "../../common/logger.ts";
import { systemRandom } from "../../common/random.ts";
import { openArchive } from "../archive/archive-config.ts";
import { AuditArchiver } from "../archive/audit-archiver.ts";
import { UsageArchiver } from "../archive/usage-archiver.ts";
import { Backups } from "../backup/backups.ts";
import { readControlConfig } from "../config.ts";
import { CountedCalls } from "../credit/counted-calls.ts";
import { EndedCalls } from "../credit/ended-calls.ts";
import { Leases } from "../credit/leases.ts";
import { RateLimiter } from "../credit/rate-limiter.ts";
import { Reservations } from "../credit/reservations.ts";
import { Settler } from "../credit/settler.ts";
import { createReceiptSigner } from "../crypto/receipt-signer.ts";
import { deriveSecrets } from "../crypto/secrets.ts";
import { createTokens } from "../crypto/tokens.ts";
import { AddressLimits } from "../domain/address-limits.ts";
import { LoginAttempts } from "../domain/login-attempts.ts";
import type { Organization, Role, Session, Team, User } from "../domain/records.ts";
import { EdgeReports } from "../feed/edge-reports.ts";
import { Edges } from "../feed/edges.ts";
import { FeedHub } from "../feed/hub.ts";
import { NO_GATEWAY_CONFIG } from "../gateway-config/gateway-config.ts";
import type { Mail } from "../mail/mailer.ts";
import { Verifications } from "../proof/verifications.ts";
import { allSlots } from "../slots/slots.ts";
import type { Transaction } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { createAccount, joinOrganization, joinTeam, openSession } from "../writes/accounts.ts";
import type { ControlDeps } from "./deps.ts";
import { LogIndexes } from "./usage/log-index/log-indexes.ts";
import { LogScans } from "./usage/log-scans.ts";

/**
 * Principals by their relation to one organization and its first team:
 * operator: platform admin with another organization; owner: of the organization and the team; manager: admin of the organization, not in
 * the team; lead: admin of the team; member: of the team; colleague: of the organization, not in the team; stranger: owner of another one.
 */
const ROLES = {
  anonymous: undefined,
  operator: {},
  owner: {},
  manager: { organization: "admin" },
  lead: { organization: "member", team: "admin" },
  member: { organization: "member", team: "member" },
  colleague: { organization: "member" },
  stranger: {},
} as const satisfies Record<string, { organization?: Role; team?: Role } | undefined>;

export type Who = keyof typeof ROLES;

export const NOW = Date.parse("2026-11-15T00:00:00Z");
export const PASSWORD = "correct horse battery";

export interface Platform {
  readonly deps: ControlDeps;
  readonly organization: Organization;
  readonly team: Team;
  readonly users: Readonly<Record<Exclude<Who, "anonymous">, User>>;
  readonly mails: readonly Mail[];
  as(who: Who, metadata?: Readonly<Record<string, string>>): CallContext;
  /** "ok" or the error code that each principal gets, one after the other. */
  outcomes(call: (context: CallContext, who: Who) => Promise<unknown>): Promise<Record<Who, ErrorCode | "ok">>;
  /** Moves the clock, and signs new tokens, because tokens expire after an hour. */
  advance(milliseconds: number): Promise<void>;
  close(): Promise<void>;
}

/** A control plane without a server, over a test store, with one principal of each role. */
export async function openPlatform(environment: Readonly<Record<string, string>> = {}): Promise<Platform> {
  const { store, close } = openTestStore();
  let elapsedMs = 0;
  const mails: Mail[] = [];
  const clock: Clock = { now: () => NOW + elapsedMs, monotonicMs: () => elapsedMs, sleep: async () => {}, after: () => () => {} };
  const deps = createDeps({ store, clock, mails, environment });
  const { users, organization, team, sessions } = await store.transaction("every", (tx) => createUsers(tx, deps));
  const tokens = new Map<string, string>();
  const signTokens = async () => {
    for (const [who, { id, userId }] of sessions) tokens.set(who, (await deps.tokens.sign({ sessionId: id, userId })).token);
  };
  await signTokens();
  const as = (who: Who, metadata = {}): CallContext => {
    const token = tokens.get(who);
    const signal = new AbortController().signal;
    return { metadata: { ...(token === undefined ? {} : { authorization: token }), ...metadata }, signal, setHeader: () => {} };
  };
  return {
    deps,
    organization,
    team,
    users,
    mails,
    as,
    async outcomes(call) {
      const outcomes: Partial<Record<Who, ErrorCode | "ok">> = {};
      for (const who of Object.keys(ROLES) as Who[]) outcomes[who] = await outcomeOf(call(as(who), who));
      return outcomes as Record<Who, ErrorCode | "ok">;
    },
    async advance(milliseconds) {
      elapsedMs += milliseconds;
      await signTokens();
    },
    close,
  };
}

/** "ok", or the error code that a call fails with. */
export async function outcomeOf(call: Promise<unknown>): Promise<ErrorCode | "ok"> {
  try {
    await call;
    return "ok";
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown.code;
    throw thrown;
  }
}

function createDeps(given: {
  store: ControlDeps["store"];
  clock: Clock;
  mails: Mail[];
  environment: Readonly<Record<string, string>>;
}): ControlDeps {
  const { store, clock, mails } = given;
  const config = readControlConfig({ SIGNUP_GRANT_NANO_USD: "1000", ...given.environment });
  const secrets = deriveSecrets(Buffer.alloc(32, 1), systemRandom);
  const rates = new RateLimiter(clock);
  const reservations = new Reservations({ reader: store, clock, policy: config.creditPolicy, rates });
  const edges = new Edges(clock);
  const ended = new EndedCalls({ edges, clock });
  const logIndexes = new LogIndexes({ store, clock, logger: silentLogger, rowsMax: config.logIndexRows });
  const parts = openArchive(config, { clock, instance: "test" });
  return {
    config,
    instance: "test",
    store,
    clock,
    random: systemRandom,
    logger: silentLogger,
    secrets,
    // Not argon2: these tests are about who may do what.
    passwords: {
      hash: async (password) => `hash of ${password}`,
      verify: async (password, stored) => stored === `hash of ${password}`,
    },
    isCommonPassword: (password) => password === "password1",
    tokens: createTokens(secrets, clock),
    receipts: createReceiptSigner(secrets),
    mailer: {
      send: async (mail) => {
        mails.push(mail);
        return true;
      },
    },
    oidc: undefined,
    sendWebhook: async () => ({ kind: "answered", status: 200 }),
    payments: undefined,
    reservations,
    counted: new CountedCalls(rates, clock),
    slots: allSlots({ count: store.slots, self: { id: "test", address: "127.0.0.1:4100" } }),
    leases: new Leases({ store, clock, policy: config.creditPolicy, reservations, ended }),
    ended,
    settler: new Settler({ store, reservations, clock, logger: silentLogger, settledRows: logIndexes }),
    feed: new FeedHub({ store, clock, logger: silentLogger }),
    edges,
    edgeReports: new EdgeReports(),
    gateway: { current: NO_GATEWAY_CONFIG, check: async () => {} },
    addressLimits: new AddressLimits(config),
    loginAttempts: new LoginAttempts(),
    logScans: new LogScans({ clock }),
    logIndexes,
    backups: new Backups({ store, clock, config, secrets }),
    archiver: new UsageArchiver({ store, clock, logger: silentLogger, parts, config }),
    auditArchiver: new AuditArchiver({ store, clock, logger: silentLogger, parts, config }),
    verifications: new Verifications(),
  };
}

async function createUsers(tx: Transaction, deps: ControlDeps) {
  const create = async (who: Exclude<Who, "anonymous">) =>
    createAccount(tx, deps, {
      email: `${who}@example.org`,
      name: who,
      organizationName: who,
      organizationId: newId("org", deps),
      passwordHash: await deps.passwords.hash(PASSWORD),
      role: who === "operator" ? "admin" : "user",
      grant: deps.config.signupGrantNanoUsd,
    });
  const { organization, team, user: owner } = await create("owner");
  const join = async (who: "manager" | "lead" | "member" | "colleague") => {
    const { user } = await create(who);
    const roles: { organization: Role; team?: Role } = ROLES[who];
    await joinOrganization(tx, { organizationId: organization.id, userId: user.id, role: roles.organization }, NOW);
    if (roles.team) await joinTeam(tx, { teamId: team.id, userId: user.id, role: roles.team, invitedAt: NOW }, NOW);
    return user;
  };
  const users = {
    operator: (await create("operator")).user,
    owner,
    manager: await join("manager"),
    lead: await join("lead"),
    member: await join("member"),
    colleague: await join("colleague"),
    stranger: (await create("stranger")).user,
  };
  const sessions = new Map<string, Session>();
  for (const [who, user] of Object.entries(users)) {
    const isMember = (await tx.get("organizationMembers", `${organization.id}/${user.id}`)) !== undefined;
    const opened = await openSession(tx, deps, user);
    const session = isMember ? { ...opened, organizationId: organization.id } : opened;
    await tx.put("sessions", session);
    sessions.set(who, session);
  }
  return { users, organization, team, sessions };
}
