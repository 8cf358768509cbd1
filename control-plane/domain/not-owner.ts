import { AppError } from "../../common/errors.ts";

/** The slot belongs to another control plane, which has to answer. */
export class NotOwner extends AppError {
  readonly slot: number;

  constructor(slot: number) {
    super("UNAVAILABLE", "The organization moves between control planes. Try again shortly.", {
      internal: `NOT_OWNER of the slot ${slot}`,
      retryAfterSeconds: 1,
    });
    this.name = "NotOwner";
    this.slot = slot;
  }
}
