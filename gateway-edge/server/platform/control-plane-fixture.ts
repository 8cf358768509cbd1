import { AppError } from "../../../common/errors.ts";
import type { CallOptions } from "../../../common/grpc/client.ts";
import { Model, Provider } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import { User } from "../../../proto/gen/tributary/identity/v1/identity.ts";
import { ApiKey } from "../../../proto/gen/tributary/keys/v1/keys.ts";
import { LedgerEntry, Purchase, Quota } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import { Organization } from "../../../proto/gen/tributary/organizations/v1/organizations.ts";
import { Team, TeamMember } from "../../../proto/gen/tributary/teams/v1/teams.ts";
import { UsageBucket, UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { ControlPlane } from "../../access/clients/control-plane.ts";

const at = new Date("2026-01-02T03:04:05.678Z");

/** One message of each kind, with the fewest fields that a control plane sends. */
export const samples = {
  user: User.fromPartial({ id: 7n, email: "a@example.com", name: "A", role: "user", organizationId: "org_1", createdAt: at }),
  organization: Organization.fromPartial({ id: "org_1", name: "O", ownerId: 7n, balance: -1_500_000_000n, createdAt: at, updatedAt: at }),
  team: Team.fromPartial({ id: "team_1", name: "T", organizationId: "org_1", status: "active", spend: 1n, createdAt: at, updatedAt: at }),
  member: TeamMember.fromPartial({ memberId: "7", userId: 7n, email: "a@example.com", role: "owner", status: "active", invitedAt: at }),
  apiKey: ApiKey.fromPartial({
    id: "key_1",
    name: "K",
    teamId: "team_1",
    teamName: "T",
    maxBudget: 2_000_000_000n,
    budget: { maxBudget: 2_000_000_000n },
    createdAt: at,
  }),
  model: Model.fromPartial({ id: "model_1", name: "echo", providerId: "prov_1", providerName: "echo", createdAt: at, updatedAt: at }),
  provider: Provider.fromPartial({ id: "prov_1", name: "echo", kind: "echo", status: "up" }),
  quota: Quota.fromPartial({ organizationId: "org_1", balance: 9_007_199_254_740_993n, updatedAt: at }),
  entry: LedgerEntry.fromPartial({ seq: 1n, type: "grant", amount: 5n, balanceAfter: 5n, createdAt: at }),
  purchase: Purchase.fromPartial({ id: "pur_1", amount: 5n, method: "test", status: "completed", createdAt: at }),
  log: UsageLog.fromPartial({
    callId: "call_1",
    createdAt: at,
    completedAt: at,
    model: "echo",
    usage: { total: 3n },
    cost: 4n,
    tags: ["x"],
  }),
  bucket: UsageBucket.fromPartial({ bucket: "2026-01-02T00:00:00+00:00", requests: 1n, cost: 4n }),
  meta: { page: 1, pageSize: 20, total: 0, totalPages: 0 },
};

export const USER_TOKEN = "user.token.x";
export const ADMIN_TOKEN = "admin.token.x";

export interface RecordedCall {
  method: string;
  request: unknown;
  options: CallOptions;
}

type Answer = (request: unknown, options: CallOptions) => unknown;

/** A control plane in memory: it knows two tokens, returns a test's answers and records its calls. */
export function fakeControlPlane(answers: Readonly<Record<string, Answer>>): { control: ControlPlane; calls: RecordedCall[] } {
  const calls: RecordedCall[] = [];
  const known: Readonly<Record<string, Answer>> = { "identity.getMe": getMe, ...answers };
  const serviceOf = (service: string) =>
    new Proxy(
      {},
      {
        get: (_target, name) => async (request: unknown, options: CallOptions) => {
          const method = `${service}.${String(name)}`;
          calls.push({ method, request, options });
          const answer = known[method];
          if (!answer) throw new AppError("SERVER_ERROR", "The test has no answer for this call.", { internal: method });
          return answer(request, options);
        },
      },
    );
  const services = [
    "access",
    "alerts",
    "audit",
    "catalog",
    "contents",
    "identity",
    "keys",
    "ledger",
    "mcp",
    "organizations",
    "proof",
    "teams",
    "usage",
    "webhooks",
  ];
  return { control: Object.fromEntries(services.map((name) => [name, serviceOf(name)])) as unknown as ControlPlane, calls };
}

function getMe(_request: unknown, { metadata }: CallOptions): unknown {
  const token = metadata?.["authorization"];
  if (token !== USER_TOKEN && token !== ADMIN_TOKEN) throw new AppError("UNAUTHORIZED", "The token is not valid; log in again.");
  return { user: { ...samples.user, role: token === ADMIN_TOKEN ? "admin" : "user" }, organization: samples.organization };
}
