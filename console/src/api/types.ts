import type { z } from "zod";
import type * as alerts from "../../../gateway-edge/schemas/platform/alerts.ts";
import type { callContentRecord } from "../../../gateway-edge/schemas/platform/contents.ts";
import type * as proof from "../../../gateway-edge/schemas/platform/proof.ts";
import type { storageAnswer } from "../../../gateway-edge/schemas/platform/storage.ts";
import type { StrategyRecord } from "../../../gateway-edge/schemas/platform/strategies.ts";
import type * as trained from "../../../gateway-edge/schemas/platform/trained-models.ts";
import type * as training from "../../../gateway-edge/schemas/platform/training.ts";
import type * as webhooks from "../../../gateway-edge/schemas/platform/webhooks.ts";
import type * as records from "../../../gateway-edge/schemas/records.ts";

/** A record as JSON: times are ISO strings, integers are numbers. Exact amounts are in the `…Usd` field beside each amount. */
export type Wire<Value> = Value extends bigint
  ? number
  : Value extends Date
    ? string
    : Value extends readonly (infer Item)[]
      ? Wire<Item>[]
      : Value extends object
        ? { [Field in keyof Value]: Wire<Value[Field]> }
        : Value;

type RecordOf<Schema extends z.ZodType> = Wire<z.infer<Schema>>;

export type User = RecordOf<typeof records.userRecord>;
export type OpenSession = RecordOf<typeof records.openSessionRecord>;
export type Organization = RecordOf<typeof records.organizationRecord>;
export type Team = RecordOf<typeof records.teamRecord>;
export type TeamDetail = RecordOf<typeof records.teamDetailRecord>;
export type TeamMember = RecordOf<typeof records.teamMemberRecord>;
export type Invitation = RecordOf<typeof records.invitationRecord>;
export type ApiKey = RecordOf<typeof records.apiKeyRecord>;
export type Model = RecordOf<typeof records.modelRecord>;
export type AdminModel = RecordOf<typeof records.adminModelRecord>;
export type Quota = RecordOf<typeof records.quotaRecord>;
export type Storage = RecordOf<typeof storageAnswer>["storage"];
export type CallContent = RecordOf<typeof callContentRecord>;
export type UsageLog = RecordOf<typeof records.usageLogRecord>;
export type UsageBucket = RecordOf<typeof records.usageBucketRecord>;
export type Totals = RecordOf<typeof records.totalsRecord>;
export type LedgerEntry = RecordOf<typeof records.ledgerEntryRecord>;
export type Purchase = RecordOf<typeof records.purchaseRecord>;
export type SignedReceipt = RecordOf<typeof proof.receiptAnswer>;
export type PageMeta = RecordOf<typeof records.pageMeta>;
export type Provider = RecordOf<typeof records.adminProviderRecord>;
export type ListedModel = RecordOf<typeof records.listedModelRecord>;
export type ProviderKind = RecordOf<typeof records.providerKindRecord>;
export type AuditEntry = RecordOf<typeof records.auditEntryRecord>;
export type LedgerProof = RecordOf<typeof proof.verifyLedgerAnswer>;
export type Federation = RecordOf<typeof training.federationRecord>;
export type FederationRound = RecordOf<typeof training.roundRecord>;
export type FederationMetrics = RecordOf<typeof training.metricsAnswer>;
export type TrainerNode = RecordOf<typeof training.nodeRecord>;
export type Strategy = Wire<StrategyRecord>;
export type TrainedModel = Wire<trained.TrainedModelRecord>;
export type TrainedVersion = Wire<trained.TrainedVersionRecord>;
export type Webhook = Wire<webhooks.WebhookRecord>;
export type Delivery = Wire<webhooks.DeliveryRecord>;
export type Alert = Wire<alerts.AlertRecord>;
export type AlertDelivery = Wire<alerts.AlertDeliveryRecord>;

export interface List<Item> {
  data: Item[];
  meta: PageMeta;
}
