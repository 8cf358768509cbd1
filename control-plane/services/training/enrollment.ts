import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { capabilitiesInHeader } from "../../../common/training/capabilities.ts";
import { isOpen, mostParticipants, PARTICIPANTS_MAX } from "../../../common/training/enrollment-settings.ts";
import { inabilityOf } from "../../../common/training/federation-needs.ts";
import { DEADLINE_MS, type FederationSettings, federationSettings } from "../../../common/training/federation-settings.ts";
import { EnrollParticipantResponse, LeaveFederationResponse } from "../../../proto/gen/tributary/training/v1/enrollment.ts";
import { JoinFederationResponse, type TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import { isOver } from "../../domain/federation-state.ts";
import { gonePlaces, isNoteDue, withPlace } from "../../domain/open-places.ts";
import type { Federation, FederationParticipant } from "../../domain/training-records.ts";
import { collect } from "../../stores/page.ts";
import { federationScope, type Scope } from "../../stores/scopes.ts";
import type { Reader } from "../../stores/store.ts";
import { putFederation } from "../../writes/federations.ts";
import type { ControlDeps } from "../deps.ts";
import { write } from "../write.ts";
import { isParticipants } from "./blobs.ts";
import { newJoinToken, newNodeSecret } from "./participants.ts";

type Handlers = ServiceHandlers<typeof TrainingServiceService>;
type EnrollmentMethod = "joinFederation" | "enrollParticipant" | "leaveFederation";

const INVALID = "The join token is not valid, or its federation has ended.";
const IS_LINK = "This is the join link of a whole federation. POST /training/join with it answers a join token of your own.";

/** Handlers for participants that join by token because they cannot be called, and for the places of open federations. */
export function enrollmentHandlers(deps: ControlDeps): Pick<Handlers, EnrollmentMethod> {
  return {
    async joinFederation({ token, blob, capabilities }, context) {
      const asked = await findPlace(deps, token);
      if (asked.federationId === undefined && (await openFederation(deps, asked.hash))) throw new AppError("UNAUTHORIZED", IS_LINK);
      const { scopes } = asked;
      const joined = await write(deps, context, { actor: undefined, codec: JoinFederationResponse, scopes }, async ({ tx, now }) => {
        const { federation, place } = await requirePlace(tx, asked);
        if (capabilities !== undefined) refuseUnable(federation, place.id, capabilities);
        // A participant joins repeatedly; only the first time writes an event.
        if (!place.joined) {
          const { roomy, left } = requireRoom(federation, now);
          const joining = withPlace(roomy, place.id, { joined: true, ...seenIn(federation, now) });
          await putFederation(tx, joining, [...left, { type: "participant.joined", data: { participantId: place.id } }], now);
        } else if (isOpen(limitsOf(federation)) && isNoteDue(place, now)) {
          await tx.put("federations", withPlace(federation, place.id, { seenAt: now }));
        }
        const { id, organizationId, holder = "" } = federation;
        const secret = deps.secrets.open(place.sealedSecret).toString();
        return { federationId: id, participantId: place.id, secret, organizationId, namesBlob: false, holder };
      });
      return { ...joined, namesBlob: blob !== "" && (await isParticipants(deps.store, { ...joined, blob })) };
    },

    async enrollParticipant({ token, capabilities, maxSamples }, context) {
      const open = await openFederation(deps, deps.secrets.tokenHash(token));
      if (!open) return ownPlace(deps, token);
      const scopes = federationScope(open.id);
      return write(deps, context, { actor: undefined, codec: EnrollParticipantResponse, scopes }, async ({ tx, now, audit }) => {
        const { roomy: federation, left } = requireRoom(requireGoing(await tx.get("federations", open.id)), now);
        const id = `p${federation.participants.length + 1}`;
        refuseUnable(federation, id, capabilities);
        const own = newJoinToken(deps);
        const agreed = agreedSamples(federation, maxSamples);
        const place = { ...newPlace(deps, { federation, id, joinHash: own.joinHash, agreed }), ...seenIn(federation, now) };
        const event = { type: "participant.joined", data: { participantId: id } };
        await putFederation(tx, { ...federation, participants: [...federation.participants, place] }, [...left, event], now);
        const { id: target, organizationId } = federation;
        await audit({ action: "federation.enroll", target, organizationId, details: { participantId: id } });
        return { federationId: target, participantId: id, token: own.token, maxSamples: agreed };
      });
    },

    async leaveFederation({ token }, context) {
      const asked = await findPlace(deps, token);
      const { scopes } = asked;
      return write(deps, context, { actor: undefined, codec: LeaveFederationResponse, scopes }, async ({ tx, now }) => {
        const { federation, place } = await requirePlace(tx, asked);
        if (place.joined) await putFederation(tx, withPlace(federation, place.id, { joined: false }), [leftEvent(place)], now);
        return {};
      });
    },
  };
}

type Limits = Pick<FederationSettings, "enrollment" | "maxParticipants" | "maxSamples"> & Partial<Pick<FederationSettings, "deadlineMs">>;
const limitsOf = ({ settings }: Federation): Limits => JSON.parse(settings) as Limits;

interface AskedPlace {
  readonly hash: string;
  /** Absent: no federation that goes on has this token. */
  readonly federationId: string | undefined;
  readonly scopes: readonly Scope[];
}

/** The token contains no id, so that it reveals nothing; the due federations are searched for its hash. */
async function findPlace({ store, secrets }: ControlDeps, token: string): Promise<AskedPlace> {
  const hash = secrets.tokenHash(token);
  for await (const { id, participants } of store.scan("federations", { index: "byDue" })) {
    if (participants.some(({ joinHash }) => joinHash === hash)) return { hash, federationId: id, scopes: [federationScope(id)] };
  }
  return { hash, federationId: undefined, scopes: [] };
}

async function requirePlace(
  reader: Reader,
  { hash, federationId }: AskedPlace,
): Promise<{ federation: Federation; place: FederationParticipant }> {
  const federation = federationId === undefined ? undefined : await reader.get("federations", federationId);
  const place = federation?.participants.find(({ joinHash }) => joinHash === hash);
  if (!federation || !place) throw new AppError("UNAUTHORIZED", INVALID);
  return { federation, place };
}

/** The open federation of a join link, also after its end. */
async function openFederation({ store }: ControlDeps, hash: string): Promise<Federation | undefined> {
  const [found] = await collect(store.scan("federations", { index: "byJoinLink", equals: [hash], limit: 1 }));
  return found;
}

/** A participant that has a join token already keeps it, so that a client need not know which of the two it was given. */
async function ownPlace(deps: ControlDeps, token: string): Promise<EnrollParticipantResponse> {
  const { federation, place } = await requirePlace(deps.store, await findPlace(deps, token));
  const maxSamples = place.maxSamples ?? limitsOf(federation).maxSamples;
  const limit = maxSamples === undefined ? undefined : BigInt(maxSamples);
  return { federationId: federation.id, participantId: place.id, token, maxSamples: limit };
}

function newPlace(
  deps: ControlDeps,
  { federation, id, joinHash, agreed }: { federation: Federation; id: string; joinHash: string; agreed: bigint | undefined },
): FederationParticipant {
  const { organizationId } = federation;
  const place = { id, nodeId: "", url: "", organizationId, dataset: "", joinHash, joined: true, sealedSecret: newNodeSecret(deps) };
  return agreed === undefined ? place : { ...place, maxSamples: Number(agreed) };
}

/** The samples that a participant may declare: what it agrees to, but no more than the federation allows. */
function agreedSamples(federation: Federation, given: bigint | undefined): bigint | undefined {
  const { maxSamples } = limitsOf(federation);
  const limit = maxSamples === undefined ? undefined : BigInt(maxSamples);
  if (given === undefined || limit === undefined) return given ?? limit;
  return given < limit ? given : limit;
}

function requireGoing(federation: Federation | undefined): Federation {
  if (federation && !isOver(federation.state)) return federation;
  throw new AppError("RECORD_CHANGED", "The federation has ended and takes no more participants.");
}

/**
 * Refuses another participant of an open federation that is full. Those that left have given up their places, and so have those whose processes
 * are gone; they come back when there is room.
 */
function requireRoom(federation: Federation, now: number): { roomy: Federation; left: readonly LeftEvent[] } {
  const { participants } = federation;
  const limits = limitsOf(federation);
  if (!isOpen(limits)) return { roomy: federation, left: [] };
  const most = mostParticipants({ ...limits, participants });
  const taken = participants.filter(({ joined }) => joined).length;
  const gone = taken < most ? [] : gonePlaces(federation, { deadlineMs: limits.deadlineMs ?? DEADLINE_MS }, now);
  if (taken - gone.length < most && participants.length < PARTICIPANTS_MAX) {
    const roomy = gone.reduce((before, { id }) => withPlace(before, id, { joined: false }), federation);
    return { roomy, left: gone.map(leftEvent) };
  }
  throw new AppError("RECORD_CHANGED", `The federation is full: it has ${taken} of at most ${most} participants. Try again later.`);
}

interface LeftEvent {
  readonly type: "participant.left";
  readonly data: { readonly participantId: string };
}

const leftEvent = ({ id }: FederationParticipant): LeftEvent => ({ type: "participant.left", data: { participantId: id } });

const seenIn = (federation: Federation, now: number): { seenAt?: number } => (isOpen(limitsOf(federation)) ? { seenAt: now } : {});

/** Refuses a participant that lacks what the federation's privacy or strategy needs. */
function refuseUnable({ settings }: Federation, id: string, capabilities: string): void {
  const inability = inabilityOf(capabilitiesInHeader(capabilities), federationSettings.parse(JSON.parse(settings)));
  if (inability === undefined) return;
  const message = `Participant ${id} ${inability}`;
  throw new AppError("VALIDATION_ERROR", `${message}.`, { details: [{ path: "headers.x-capabilities", message }] });
}
