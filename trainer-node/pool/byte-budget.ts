import { TrainerError } from "../errors.ts";

/** One call's share of the budget. It grows while the body arrives and is released as a whole. */
export interface ByteReservation {
  /** Throws BUSY if the budget is used up. */
  grow(bytes: number): void;
  release(): void;
}

/** A limit on the bytes of request bodies in memory. */
export interface ByteBudget {
  open(): ByteReservation;
  readonly heldBytes: number;
}

const BUSY_RETRY_SECONDS = 2;

/** Creates a limit on the bytes of all bodies that are arriving, queued or running. */
export function createByteBudget(bytesMax: number): ByteBudget {
  let heldBytes = 0;
  return {
    open: () => {
      let mine = 0;
      let open = true;
      return {
        grow: (bytes) => {
          // The rest of a refused body is read and discarded without being counted.
          if (!open) return;
          if (heldBytes + bytes > bytesMax) {
            throw new TrainerError(
              "BUSY",
              "The node's limit on bytes of running calls (TRAINER_BYTES_BUDGET) is reached. Try again later.",
              {
                retryAfterSeconds: BUSY_RETRY_SECONDS,
              },
            );
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
