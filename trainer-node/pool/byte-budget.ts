import { TrainerError } from "../errors.ts";

/** One call's share of the budget; grows while its body arrives and is given back whole. */
export interface ByteReservation {
  /** Throws BUSY when the node holds too much already. */
  grow(bytes: number): void;
  release(): void;
}

export interface ByteBudget {
  open(): ByteReservation;
  readonly heldBytes: number;
}

const BUSY_RETRY_SECONDS = 2;

/** A bound on the bytes of all bodies that are arriving, waiting or being worked on. */
export function createByteBudget(bytesMax: number): ByteBudget {
  let heldBytes = 0;
  return {
    open: () => {
      let mine = 0;
      let open = true;
      return {
        grow: (bytes) => {
          // The rest of a body that was refused is let through, and held by nobody.
          if (!open) return;
          if (heldBytes + bytes > bytesMax) {
            throw new TrainerError("BUSY", "The node holds as many bytes of work as it may; try again later.", {
              retryAfterSeconds: BUSY_RETRY_SECONDS,
            });
          }
          heldBytes += bytes;
          mine += bytes;
        },
        release: () => {
          heldBytes -= mine;
          mine = 0;
          open = false;
        },
      };
    },
    get heldBytes() {
      return heldBytes;
    },
  };
}
