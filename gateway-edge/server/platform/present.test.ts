import type { z } from "zod";
import { toJson } from "../../../common/json.ts";
import { AuditEntry } from "../../../proto/gen/tributary/audit/v1/audit.ts";
import * as records from "../../schemas/records.ts";
import { samples } from "./control-plane-fixture.ts";
import * as present from "./present.ts";
import { presentModel, presentProvider } from "./present-catalog.ts";
import { presentTotals, presentUsageBucket, presentUsageLog } from "./present-usage.ts";

const audit = AuditEntry.fromPartial({ seq: 1n, at: new Date(0), action: "team.create", details: '{"name":"x"}' });

const cases: [name: string, schema: z.ZodObject, value: object][] = [
  ["user", records.userRecord, present.presentUser(samples.user)],
  ["organization", records.organizationRecord, present.presentOrganization(samples.organization)],
  ["team", records.teamRecord, present.presentTeam(samples.team)],
  ["member", records.teamMemberRecord, present.presentTeamMember(samples.member)],
  ["apiKey", records.apiKeyRecord, present.presentApiKey(samples.apiKey)],
  ["model", records.modelRecord, presentModel(samples.model)],
  ["provider", records.providerRecord, presentProvider(samples.provider)],
  ["quota", records.quotaRecord, present.presentQuota(samples.quota)],
  ["entry", records.ledgerEntryRecord, present.presentLedgerEntry(samples.entry)],
  ["purchase", records.purchaseRecord, present.presentPurchase(samples.purchase)],
  ["log", records.usageLogRecord, presentUsageLog(samples.log)],
  ["bucket", records.usageBucketRecord, presentUsageBucket(samples.bucket)],
  ["totals", records.totalsRecord, presentTotals({ requests: 1n, tokens: 2n, cost: 3n, refused: 4n })],
  ["audit", records.auditEntryRecord, present.presentAuditEntry(audit)],
];

test.each(cases)("a presented %s is exactly its documented record, with explicit nulls", (_name, schema, value) => {
  expect(schema.strict().safeParse(value).error).toBeUndefined();
  expect(Object.values(value)).not.toContain(undefined);
});

test("money leaves as an exact integer literal beside its decimal string", () => {
  const json = toJson(present.presentQuota(samples.quota));
  expect(json).toContain('"balance":9007199254740993,"balanceUsd":"9007199.254740993"');
  expect(toJson(present.presentOrganization(samples.organization))).toContain('"balance":-1500000000,"balanceUsd":"-1.50"');
});

test("a message without what a control plane must send is our mistake, not an answer", () => {
  expect(() => present.presentUser({ ...samples.user, createdAt: undefined })).toThrow("left out createdAt");
});
