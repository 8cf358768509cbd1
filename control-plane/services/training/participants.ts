import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import { PARTICIPANTS_MAX } from "../../../common/training/enrollment-settings.ts";
import type { NewParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { Team } from "../../domain/records.ts";
import type { FederationParticipant, TrainerNode } from "../../domain/training-records.ts";
import type { Transaction } from "../../stores/store.ts";
import type { ControlDeps } from "../deps.ts";
import { refusedPlace } from "./node-names.ts";

const SECRET_BYTES = 32;
const JOIN_PREFIX = "join_";

/** The participants of a new federation. Each address becomes a node of the team, unless it is one already. */
export async function newParticipants(
  deps: ControlDeps,
  tx: Transaction,
  { team, given, isOpen }: { team: Team; given: readonly NewParticipant[]; isOpen: boolean },
  now: number,
): Promise<{ participants: FederationParticipant[]; joinTokens: string[] }> {
  const least = isOpen ? 0 : 1;
  if (given.length < least || given.length > PARTICIPANTS_MAX) {
    throw new AppError("VALIDATION_ERROR", `A federation has ${least} to ${PARTICIPANTS_MAX} participants.`, {
      details: [{ path: "body.participants", message: `must have ${least} to ${PARTICIPANTS_MAX} entries` }],
    });
  }
  const joinTokens: string[] = [];
  const participants: FederationParticipant[] = [];
  for (const [index, one] of given.entries()) {
    const path = `body.participants.${index}`;
    const organizationId = await receiverOf(tx, { team, given: one.organizationId, path });
    const place = { id: `p${index + 1}`, organizationId, dataset: one.dataset };
    const own = { secret: sealed(deps, one.secret), token: sealed(deps, one.token) };
    const newSecret = newNodeSecret(deps);
    if (one.inner) {
      participants.push({ ...place, sealedSecret: newSecret, nodeId: "", url: "", joined: true, inner: one.inner });
    } else if (one.join) {
      const { token, joinHash } = newJoinToken(deps);
      joinTokens.push(token);
      participants.push({ ...place, sealedSecret: own.secret ?? newSecret, nodeId: "", url: "", joined: false, joinHash });
    } else {
      const url = checkNodeUrl(deps, one.url, `${path}.url`);
      const node = await nodeFor(deps, tx, { team, url, name: "", token: one.token, secret: one.secret }, now);
      const token = own.token ?? node.sealedToken;
      participants.push({
        ...place,
        sealedSecret: own.secret ?? node.sealedSecret ?? newSecret,
        nodeId: node.id,
        url,
        joined: true,
        ...(token === undefined ? {} : { sealedToken: token }),
      });
    }
  }
  return { participants, joinTokens };
}

type Secrets = Pick<ControlDeps, "secrets" | "random">;

/** A new join token, of which the control plane keeps the hash. */
export function newJoinToken({ secrets, random }: Secrets): { token: string; joinHash: string } {
  const token = JOIN_PREFIX + random.bytes(SECRET_BYTES).toString("base64url");
  return { token, joinHash: secrets.tokenHash(token) };
}

/** A new secret that signs calls to a participant, encrypted. */
export function newNodeSecret({ secrets, random }: Secrets): string {
  return secrets.seal(Buffer.from(random.bytes(SECRET_BYTES).toString("hex")));
}

function sealed({ secrets }: Pick<ControlDeps, "secrets">, text: string | undefined): string | undefined {
  return text === undefined ? undefined : secrets.seal(Buffer.from(text));
}

/** The organization that receives the rewards. */
async function receiverOf(
  tx: Transaction,
  { team, given, path }: { team: Team; given: string | undefined; path: string },
): Promise<string> {
  if (given === undefined || (await tx.get("organizations", given))) return given ?? team.organizationId;
  throw new AppError("VALIDATION_ERROR", "There is no such organization.", {
    details: [{ path: `${path}.organizationId`, message: "is not an organization" }],
  });
}

/** Finds or creates the team's node with this address. */
export async function nodeFor(
  deps: ControlDeps,
  tx: Transaction,
  { team, url, name, token, secret }: { team: Team; url: string; name: string; token: string | undefined; secret: string | undefined },
  now: number,
): Promise<TrainerNode> {
  const known = await tx.find("trainerNodes", "byTeamAndUrl", [team.id, url]);
  if (known) return known;
  const node: TrainerNode = {
    id: newId("node", deps),
    name: name === "" ? new URL(url).host : name,
    url,
    organizationId: team.organizationId,
    teamId: team.id,
    ...(token === undefined ? {} : { sealedToken: deps.secrets.seal(Buffer.from(token)) }),
    ...(secret === undefined ? {} : { sealedSecret: deps.secrets.seal(Buffer.from(secret)) }),
    status: "unknown",
    updates: 0,
    failures: 0,
    bytes: 0,
    trainMs: 0,
    createdAt: now,
  };
  await tx.insert("trainerNodes", node);
  return node;
}

/** Checks that a node address may be called. Private addresses need ALLOW_PRIVATE_NODES. */
export function checkNodeUrl(deps: Pick<ControlDeps, "config">, given: string, path: string): string {
  const refuse = (message: string) =>
    new AppError("VALIDATION_ERROR", `The address of the node ${message}.`, { details: [{ path, message }] });
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) throw refuse("must be an http or https address");
  if (url.username !== "" || url.password !== "") throw refuse("must not hold a user name or password; give a token");
  if (url.search !== "" || url.hash !== "") throw refuse("must not have a query or fragment");
  const reason = refusedPlace(url.hostname, { allowPrivate: deps.config.allowPrivateNodes });
  if (reason !== undefined) throw refuse(`is a ${reason}`);
  return url.href.replace(/(?<!\/)\/+$/, "");
}
