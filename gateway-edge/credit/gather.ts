import { AppError, asAppError } from "../../common/errors.ts";
import type { CallOptions } from "../../common/grpc/client.ts";
import { fromErrorInfo } from "../../common/grpc/status.ts";
import type { ReserveRequest, ReserveResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "../access/clients/control-plane.ts";

type Access = ControlPlane["access"];

const GATHERED_MAX = 200;

/**
 * Batches the reservations of single calls: requests that arrive while an RPC is running are sent together in the next one. A single call
 * does not wait; many at once cost a fraction of an RPC each. Every caller gets its own outcome.
 */
export function gatherReservations(
  access: Pick<Access, "reserveMany">,
  laneOf: (organizationId: string) => string = () => "",
): (request: ReserveRequest, options: CallOptions) => Promise<ReserveResponse> {
  // One lane for each control plane: while one does not answer, only the calls that it has to admit wait.
  const lanes = new Map<string, ReturnType<typeof gather<ReserveRequest, ReserveResponse>>>();
  return (request, options) => {
    const lane = laneOf(request.organizationId);
    const ask = lanes.get(lane) ?? gather((reservations: ReserveRequest[], within) => reserveMany(access, reservations, within));
    lanes.set(lane, ask);
    return ask(request, options);
  };
}

/** The outcome of one request. An error of the whole batch is the outcome of each of its requests. */
type Outcome<Answer> = { answer: Answer } | { error: AppError };

async function reserveMany(
  access: Pick<Access, "reserveMany">,
  reservations: ReserveRequest[],
  options: CallOptions,
): Promise<Outcome<ReserveResponse>[]> {
  const { outcomes } = await access.reserveMany({ reservations }, options);
  return reservations.map((_, index) => {
    const outcome = outcomes[index]?.outcome;
    if (outcome?.$case === "reserved") return { answer: outcome.value };
    return {
      error: outcome ? fromErrorInfo(outcome.value) : new AppError("UNAVAILABLE", "The control plane did not answer for this call."),
    };
  });
}

function gather<Request, Answer>(
  send: (requests: Request[], options: CallOptions) => Promise<Outcome<Answer>[]>,
): (request: Request, options: CallOptions) => Promise<Answer> {
  let waiting: { request: Request; options: CallOptions; resolve(answer: Answer): void; reject(error: unknown): void }[] = [];
  let sending = false;

  async function sendAll(): Promise<void> {
    sending = true;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, GATHERED_MAX);
      waiting = waiting.slice(GATHERED_MAX);
      const deadlineMs = Math.min(...batch.map(({ options }) => options.deadlineMs));
      const requests = batch.map(({ request }) => request);
      const outcomes = await send(requests, { deadlineMs }).catch((thrown: unknown) => asAppError(thrown));
      batch.forEach(({ resolve, reject }, index) => {
        const outcome = outcomes instanceof AppError ? { error: outcomes } : outcomes[index];
        if (outcome && "answer" in outcome) resolve(outcome.answer);
        else reject(outcome?.error);
      });
    }
    sending = false;
  }

  return (request, options) =>
    new Promise((resolve, reject) => {
      waiting.push({ request, options, resolve, reject });
      // Sent at the end of this turn of the event loop, so that calls that arrive together share one RPC.
      if (!sending) {
        sending = true;
        setImmediate(() => void sendAll());
      }
    });
}
