import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { Random } from "../../common/random.ts";
import type { AuditArchiver } from "../archive/audit-archiver.ts";
import type { UsageArchiver } from "../archive/usage-archiver.ts";
import type { Backups } from "../backup/backups.ts";
import type { ControlConfig } from "../config.ts";
import type { CountedCalls } from "../credit/counted-calls.ts";
import type { EndedCalls } from "../credit/ended-calls.ts";
import type { Leases } from "../credit/leases.ts";
import type { Reservations } from "../credit/reservations.ts";
import type { SettlementSpans } from "../credit/settlement-spans.ts";
import type { Settler } from "../credit/settler.ts";
import type { IsCommonPassword } from "../crypto/common-passwords.ts";
import type { Passwords } from "../crypto/passwords.ts";
import type { ReceiptSigner } from "../crypto/receipt-signer.ts";
import type { Secrets } from "../crypto/secrets.ts";
import type { Tokens } from "../crypto/tokens.ts";
import type { AddressLimits } from "../domain/address-limits.ts";
import type { LoginAttempts } from "../domain/login-attempts.ts";
import type { EdgeReports } from "../feed/edge-reports.ts";
import type { Edges } from "../feed/edges.ts";
import type { FeedHub } from "../feed/hub.ts";
import type { GatewayConfig } from "../gateway-config/gateway-config.ts";
import type { Mailer } from "../mail/mailer.ts";
import type { OidcIssuer } from "../oidc/issuer.ts";
import type { Payments } from "../payments/payments.ts";
import type { Verifications } from "../proof/verifications.ts";
import type { Slots } from "../slots/slots.ts";
import type { Store } from "../stores/store.ts";
import type { SendWebhook } from "../webhooks/send-webhook.ts";
import type { LogIndexes } from "./usage/log-index/log-indexes.ts";
import type { LogScans } from "./usage/log-scans.ts";

/** Dependencies of the services; main.ts assembles them once. */
export interface ControlDeps {
  /** Parsed settings. */
  readonly config: ControlConfig;
  /** Random id of this process. */
  readonly instance: string;
  /** The store port. */
  readonly store: Store;
  /** The clock port. */
  readonly clock: Clock;
  /** The randomness port. */
  readonly random: Random;
  /** The process log. */
  readonly logger: Logger;
  /** Hashing and encryption with keys derived from the root secret. */
  readonly secrets: Secrets;
  /** Password hashing. */
  readonly passwords: Passwords;
  /** Whether a password is on the list of common passwords. */
  readonly isCommonPassword: IsCommonPassword;
  /** Session tokens. */
  readonly tokens: Tokens;
  /** Signs receipts of calls. */
  readonly receipts: ReceiptSigner;
  /** The mail port. */
  readonly mailer: Mailer;
  /** The port of sign-in by OpenID Connect; absent: it is off. */
  readonly oidc: OidcIssuer | undefined;
  /** The webhook port. */
  readonly sendWebhook: SendWebhook;
  /** The card payment port; absent: card payments are off. */
  readonly payments: Payments | undefined;
  /** Credit and rate limits held by calls that are reserved one by one. */
  readonly reservations: Reservations;
  /** Calls of other control planes' organizations, under limits that this control plane counts. */
  readonly counted: CountedCalls;
  /** Which slots this control plane owns, and who owns the others. */
  readonly slots: Slots;
  /** Leases of credit to edges. */
  readonly leases: Leases;
  readonly ended: EndedCalls;
  /** Settles reported calls in batches. */
  readonly settler: Settler;
  /** Traces settlements; absent: nothing is traced. */
  readonly settlementSpans?: SettlementSpans | undefined;
  /** Sends changes to edges. */
  readonly feed: FeedHub;
  /** Connected edges, which can be flushed. */
  readonly edges: Edges;
  /** The latest figures of each edge. */
  readonly edgeReports: EdgeReports;
  /** The configuration file in force. */
  readonly gateway: { readonly current: GatewayConfig; check(): Promise<void> };
  /** Limits sign-ups, mails and tests of webhooks by client address. */
  readonly addressLimits: AddressLimits;
  /** Throttles log-ins. */
  readonly loginAttempts: LoginAttempts;
  /** Limits long scans of usage logs. */
  readonly logScans: LogScans;
  /** Usage logs in memory, for filters and search. */
  readonly logIndexes: LogIndexes;
  /** Makes backups of the embedded store. */
  readonly backups: Backups;
  /** Moves old usage rows to files. */
  readonly archiver: UsageArchiver;
  /** Moves old entries of the audit log to files. */
  readonly auditArchiver: AuditArchiver;
  /** Counts verifications of the ledger. */
  readonly verifications: Verifications;
}
