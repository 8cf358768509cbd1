import type { UnansweredCall } from "../../common/grpc/server.ts";
import {
  AccessServiceService,
  type ReserveManyRequest,
  type ReserveManyResponse,
  type SettleRequest,
  type SettleResponse,
} from "../../proto/gen/tributary/access/v1/access.ts";

/** Answers one part of a request; all of a part's organizations have the owner of the given one. */
type AnswerPart = (request: unknown, organizationId: string) => Promise<unknown>;

/** A request about several organizations, in parts of one owner each. */
export interface Parts {
  answer(answerPart: AnswerPart): Promise<unknown>;
}

/** The parts of a request by owner; undefined for a call that is about one organization only. */
export function partsOf(
  { method, request }: Pick<UnansweredCall, "method" | "request">,
  keyOf: (organizationId: string) => string,
): Parts | undefined {
  if (method.path === AccessServiceService.settle.path) return settleParts(request as SettleRequest, keyOf);
  if (method.path === AccessServiceService.reserveMany.path) return reserveParts(request as ReserveManyRequest, keyOf);
  return undefined;
}

function settleParts(request: SettleRequest, keyOf: (organizationId: string) => string): Parts {
  const settlements = Map.groupBy(request.settlements, ({ log }) => keyOf(log?.organizationId ?? ""));
  const returns = Map.groupBy(request.returns, ({ organizationId }) => keyOf(organizationId));
  const parts = [...new Set([...settlements.keys(), ...returns.keys()])].map((key): SettleRequest => {
    return { ...request, settlements: settlements.get(key) ?? [], returns: returns.get(key) ?? [] };
  });
  return {
    answer: async (answerPart) => {
      const answers = await Promise.all(parts.map((part) => answerPart(part, organizationOf(part)) as Promise<SettleResponse>));
      return {
        settled: answers.reduce((sum, { settled }) => sum + settled, 0n),
        repeatedBefore: answers.reduce((sum, { repeatedBefore }) => sum + repeatedBefore, 0n),
      } satisfies SettleResponse;
    },
  };
}

function organizationOf({ settlements, returns }: SettleRequest): string {
  return settlements[0]?.log?.organizationId ?? returns[0]?.organizationId ?? "";
}

const NO_OUTCOME = { outcome: undefined, isPerhapsOver: false };

function reserveParts({ reservations }: ReserveManyRequest, keyOf: (organizationId: string) => string): Parts {
  const places = reservations.map((reservation, place) => ({ reservation, place }));
  const parts = [...Map.groupBy(places, ({ reservation }) => keyOf(reservation.organizationId)).values()];
  return {
    answer: async (answerPart) => {
      const outcomes: ReserveManyResponse["outcomes"] = reservations.map(() => NO_OUTCOME);
      const answerOne = async (part: typeof places) => {
        const request: ReserveManyRequest = { reservations: part.map(({ reservation }) => reservation) };
        const answer = (await answerPart(request, part[0]?.reservation.organizationId ?? "")) as ReserveManyResponse;
        for (const [index, { place }] of part.entries()) outcomes[place] = answer.outcomes[index] ?? NO_OUTCOME;
      };
      await Promise.all(parts.map(answerOne));
      return { outcomes } satisfies ReserveManyResponse;
    },
  };
}
