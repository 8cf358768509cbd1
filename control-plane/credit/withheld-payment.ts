import type { Reservations } from "./reservations.ts";

/** Withholds what a transaction takes from an organization, and returns what running calls hold of its credit. */
export type Withhold = (organizationId: string, amount: bigint) => bigint;

/** Runs a transaction that takes credit from an organization other than for calls. Until it is stored, calls must not get that credit. */
export async function withheldPayment<Result>(
  reservations: Pick<Reservations, "reservedOf" | "withhold">,
  run: (withhold: Withhold) => Promise<Result>,
): Promise<Result> {
  let done = () => {};
  const withhold: Withhold = (organizationId, amount) => {
    // A transaction may run several times.
    done();
    done = reservations.withhold(organizationId, amount);
    return reservations.reservedOf(organizationId);
  };
  try {
    return await run(withhold);
  } finally {
    done();
  }
}
