import { z } from "zod";

/** Most participants of a federation. */
export const PARTICIPANTS_MAX = 10_000;

const count = z.int().min(1, "must be at least 1").max(PARTICIPANTS_MAX, `must be at most ${PARTICIPANTS_MAX}`);

/** Who may take part: the listed participants, or those with the join link, too. */
export const enrollmentFields = {
  enrollment: z.enum(["listed", "open"], "must be listed or open").optional(),
  /** Of an open federation: a round begins with at least so many participants; 1 where absent. */
  minParticipants: count.optional(),
  /** Of an open federation: how many may take part at the same time. */
  maxParticipants: count.optional(),
};

interface Enrollment {
  readonly enrollment?: "listed" | "open" | undefined;
  readonly minParticipants?: number | undefined;
  readonly maxParticipants?: number | undefined;
}

interface Asked extends Enrollment {
  readonly secureAggregation?: unknown;
  readonly participants: { readonly length: number };
}

interface Problem {
  readonly path: string[];
  readonly message: string;
}

/** Whether participants with the join link may take part. */
export const isOpen = ({ enrollment }: Pick<Enrollment, "enrollment">): boolean => enrollment === "open";

/** The most participants that a federation can have. */
export function mostParticipants(asked: Enrollment & Pick<Asked, "participants">): number {
  return isOpen(asked) ? (asked.maxParticipants ?? PARTICIPANTS_MAX) : asked.participants.length;
}

/** What is wrong with the enrollment in these settings, by path. */
export function enrollmentProblems(asked: Asked): Problem[] {
  return isOpen(asked) ? openProblems(asked) : listedProblems(asked);
}

function listedProblems({ participants, minParticipants, maxParticipants }: Asked): Problem[] {
  const message = 'works only with enrollment "open"';
  return [
    ...(participants.length === 0
      ? [{ path: ["participants"], message: 'must have at least one entry, unless enrollment is "open"' }]
      : []),
    ...(minParticipants === undefined ? [] : [{ path: ["minParticipants"], message }]),
    ...(maxParticipants === undefined ? [] : [{ path: ["maxParticipants"], message }]),
  ];
}

function openProblems(asked: Asked): Problem[] {
  const most = mostParticipants(asked);
  const { participants, minParticipants = 1, secureAggregation } = asked;
  const masks = "secureAggregation needs participants that can be called, and those of the join link cannot; list the participants";
  return [
    ...(secureAggregation ? [{ path: ["enrollment"], message: masks }] : []),
    ...(minParticipants > most ? [{ path: ["minParticipants"], message: `must be at most maxParticipants, ${most}` }] : []),
    ...(participants.length > most ? [{ path: ["participants"], message: `must have at most maxParticipants entries, ${most}` }] : []),
  ];
}
