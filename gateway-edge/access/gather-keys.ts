import type { Clock } from "../../common/clock.ts";
import type { CallOptions } from "../../common/grpc/client.ts";
import { gatherCalls } from "../../common/grpc/gather.ts";
import type { ResolveKeyResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "./clients/control-plane.ts";

type Access = Pick<ControlPlane["access"], "resolveKey">;

/** Looks up the key with this SHA-256. */
export type ResolveKey = (sha256: Buffer, options: CallOptions) => Promise<ResolveKeyResponse>;

/** A look-up does not wait longer than this for those before it: they may hang at a control plane that is gone. */
const LATE_MS = 50;
const PARALLEL = 16;

/** Batches look-ups of keys: an RPC costs several times what a look-up does. A batch has the least of its deadlines. */
export function gatherKeys({ access, clock }: { access: Access; clock: Pick<Clock, "after"> }): ResolveKey {
  return gatherCalls((keys: Buffer[], options) => resolveAll(access, keys, options), { parallel: PARALLEL, lateMs: LATE_MS, clock });
}

async function resolveAll(access: Access, keys: readonly Buffer[], options: CallOptions): Promise<{ answer: ResolveKeyResponse }[]> {
  const [secretSha256 = Buffer.alloc(0), ...more] = keys;
  const first = await access.resolveKey({ secretSha256, more }, options);
  if (first.more.length === more.length) return [first, ...first.more].map((answer) => ({ answer }));
  // A control plane of the release before has answered the first one only.
  const others = await Promise.all(more.map((key) => access.resolveKey({ secretSha256: key, more: [] }, options)));
  return [first, ...others].map((answer) => ({ answer }));
}
