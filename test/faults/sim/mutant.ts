import type { Disk } from "../../../common/disk.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import type { deliverOutbox } from "../../../control-plane/jobs/deliver-outbox.ts";
import type { Write } from "../../../control-plane/stores/overlay.ts";
import type { Reader } from "../../../control-plane/stores/store.ts";
import type { Credit } from "../../../gateway-edge/credit/credit.ts";
import type { LeasedCreditDeps } from "../../../gateway-edge/credit/leased-credit.ts";
import type { AccessServiceService } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Tables } from "./memory-store.ts";

export type Access = LeasedCreditDeps["access"];
export type CreditHandlers = Pick<
  ServiceHandlers<typeof AccessServiceService>,
  "lease" | "settle" | "reserve" | "reserveMany" | "release" | "flushed"
>;

/** A bug, planted from outside: each part stands where the product's own would. */
export interface Mutant {
  readonly disk?: (disk: Disk) => Disk;
  readonly access?: (access: Access) => Access;
  readonly credit?: (credit: Credit) => Credit;
  readonly handlers?: (handlers: CreditHandlers, tables: Tables, now: () => number) => CreditHandlers;
  readonly reader?: (tables: Tables) => Reader;
  readonly apply?: (tables: Tables, writes: readonly Write[]) => void;
  /** Commits are not refused when their slot has another owner by now, which may have changed what they are made of. */
  readonly isUnfenced?: boolean;
  /** How payments between organizations are delivered. */
  readonly outbox?: typeof deliverOutbox;
  /** Changes the code itself, for this run; returns the way back. */
  readonly patch?: () => () => void;
}
