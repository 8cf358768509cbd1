import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { Random } from "../../common/random.ts";
import type { ControlConfig } from "../config.ts";
import type { Leases } from "../credit/leases.ts";
import type { Reservations } from "../credit/reservations.ts";
import type { Settler } from "../credit/settler.ts";
import type { IsCommonPassword } from "../crypto/common-passwords.ts";
import type { Passwords } from "../crypto/passwords.ts";
import type { ReceiptSigner } from "../crypto/receipt-signer.ts";
import type { Secrets } from "../crypto/secrets.ts";
import type { Tokens } from "../crypto/tokens.ts";
import type { LoginAttempts } from "../domain/login-attempts.ts";
import type { EdgeReports } from "../feed/edge-reports.ts";
import type { Edges } from "../feed/edges.ts";
import type { FeedHub } from "../feed/hub.ts";
import type { GatewayConfig } from "../gateway-config/gateway-config.ts";
import type { Mailer } from "../mail/mailer.ts";
import type { Payments } from "../payments/payments.ts";
import type { Store } from "../stores/store.ts";
import type { SendWebhook } from "../webhooks/send-webhook.ts";
import type { LogScans } from "./usage/log-scans.ts";

/** What the services work with; main.ts assembles it, once. */
export interface ControlDeps {
  readonly config: ControlConfig;
  /** Names this process until it ends. */
  readonly instance: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly secrets: Secrets;
  readonly passwords: Passwords;
  readonly isCommonPassword: IsCommonPassword;
  readonly tokens: Tokens;
  readonly receipts: ReceiptSigner;
  readonly mailer: Mailer;
  readonly sendWebhook: SendWebhook;
  /** Absent: there are no card payments. */
  readonly payments: Payments | undefined;
  readonly reservations: Reservations;
  readonly leases: Leases;
  readonly settler: Settler;
  readonly feed: FeedHub;
  readonly edges: Edges;
  readonly edgeReports: EdgeReports;
  /** The configuration file as it is now. */
  readonly gateway: { readonly current: GatewayConfig; check(): Promise<void> };
  readonly loginAttempts: LoginAttempts;
  readonly logScans: LogScans;
}
