import type { Federation, FederationParticipant } from "./training-records.ts";

/** How often it is noted that a participant called: each note writes its federation. */
const NOTED_MS = 5 * 60_000;
/**
 * A participant that waits for work calls every 20 seconds. One that trains may say nothing until the deadline of its round; this much later its
 * process is gone.
 */
const GONE_MS = 15 * 60_000;

/** Whether a call of this participant is to be noted. */
export const isNoteDue = ({ seenAt = 0 }: FederationParticipant, now: number): boolean => now - seenAt >= NOTED_MS;

/** The federation after a participant took its place, called, or gave it up. */
export function withPlace(federation: Federation, id: string, changes: Partial<FederationParticipant>): Federation {
  return { ...federation, participants: federation.participants.map((one) => (one.id === id ? { ...one, ...changes } : one)) };
}

/** Participants of an open federation that hold a place and have not called for longer than a round of theirs may take. */
export function gonePlaces({ participants }: Federation, { deadlineMs }: { deadlineMs: number }, now: number): FederationParticipant[] {
  return participants.filter(
    ({ joined, url, seenAt }) => joined && url === "" && seenAt !== undefined && now - seenAt > deadlineMs + GONE_MS,
  );
}
