import { AppError } from "../../common/errors.ts";
import type { Outcome } from "../../common/gather.ts";
import type { CallOptions } from "../../common/grpc/client.ts";
import { gatherCalls } from "../../common/grpc/gather.ts";
import { fromErrorInfo } from "../../common/grpc/status.ts";
import { limitName } from "../../common/slots.ts";
import type { ReserveRequest, ReserveResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "../access/clients/control-plane.ts";

type Access = ControlPlane["access"];

/** A refusal that may be wrong: calls that are over may hold what the call lacks. */
class PerhapsOver extends Error {}

/**
 * Batches the reservations of single calls. Every caller gets its own outcome. A call that is refused because of what may be over asks once
 * more by itself: the control plane first asks all edges what has ended, and no other call waits for that.
 */
export function gatherReservations(
  access: Pick<Access, "reserve" | "reserveMany">,
  laneOf: (organizationId: string) => string = () => "",
): (request: ReserveRequest, options: CallOptions) => Promise<ReserveResponse> {
  // One lane for each control plane and the one that counts the model's limits: while one does not answer, only calls that need it wait.
  const lanes = new Map<string, ReturnType<typeof gatherCalls<ReserveRequest, ReserveResponse>>>();
  return (request, options) => {
    const lane = `${laneOf(request.organizationId)} ${laneOf(limitName({ kind: "model", id: request.model }))}`;
    const ask = lanes.get(lane) ?? gatherCalls((reservations: ReserveRequest[], within) => reserveMany(access, reservations, within));
    lanes.set(lane, ask);
    return ask(request, options).catch((error: unknown) => {
      if (!(error instanceof PerhapsOver)) throw error;
      return access.reserve(request, options);
    });
  };
}

async function reserveMany(
  access: Pick<Access, "reserveMany">,
  reservations: ReserveRequest[],
  options: CallOptions,
): Promise<Outcome<ReserveResponse>[]> {
  const { outcomes } = await access.reserveMany({ reservations }, options);
  return reservations.map((_, index) => {
    const { outcome, isPerhapsOver } = outcomes[index] ?? {};
    if (outcome?.$case === "reserved") return { answer: outcome.value };
    if (!outcome) return { error: new AppError("UNAVAILABLE", "The control plane did not answer for this call.") };
    return { error: isPerhapsOver ? new PerhapsOver() : fromErrorInfo(outcome.value) };
  });
}
