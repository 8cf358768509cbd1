import { setTimeout as delay } from "node:timers/promises";
import { type Client, connectivityState, type ServiceError, status } from "@grpc/grpc-js";

/** The connection that a channel has now, of several that it can have. */
interface Current {
  readonly client: Client;
  readonly isClosed?: boolean;
}

const NEXT_PLACE_MS = 100;

/** Calls back when the current connection has failed, not at once, so that a list of which no control plane can be reached costs little. */
export function followConnection(current: Current, failed: () => void): void {
  const { client } = current;
  const isOver = () => current.isClosed || current.client !== client;
  const channel = client.getChannel();
  const look = () => {
    if (isOver()) return;
    const state = channel.getConnectivityState(true);
    if (state !== connectivityState.TRANSIENT_FAILURE) return channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look);
    setTimeout(() => {
      if (!isOver()) failed();
    }, NEXT_PLACE_MS).unref();
  };
  look();
}

/** Sends a call that was not sent, because its control plane is gone, to the next one of the list. */
export async function untilSent<Answer>(attempt: (deadlineMs: number) => Promise<Answer>, deadlineMs: number): Promise<Answer> {
  const untilMs = performance.now() + deadlineMs;
  for (let leftMs = deadlineMs; ; leftMs = untilMs - performance.now()) {
    try {
      return await attempt(leftMs);
    } catch (thrown) {
      // Time for one more attempt has to be left.
      if (!isUnsent(thrown) || performance.now() + 2 * NEXT_PLACE_MS >= untilMs) throw thrown;
      await delay(NEXT_PLACE_MS);
    }
  }
}

/** Whether a call failed before anything of it was sent: to send it again cannot do anything twice. */
export function isUnsent(thrown: unknown): boolean {
  const { code, details } = ((thrown as { cause?: unknown } | undefined)?.cause ?? {}) as Partial<ServiceError>;
  return code === status.UNAVAILABLE && details?.startsWith("No connection established") === true;
}
