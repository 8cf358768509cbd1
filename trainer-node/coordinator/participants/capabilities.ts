import { type Capability, declaredCapabilities } from "../../../common/training/capabilities.ts";
import type { Properties } from "../../../common/training/selection-settings.ts";
import { type CallNode, type NodeAddress, readAnswer, requireAccepted } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";

const INFO_BYTES_MAX = 1024 * 1024;
const PROBE_MS = 10_000;

/** Reads the capabilities that a participant declares at `/v1/info`. A participant that declares none has none. */
export async function readCapabilities(call: CallNode, node: NodeAddress, signal: AbortSignal): Promise<ReadonlySet<Capability>> {
  return declaredIn(await readInfo(call, node, signal));
}

/** Reads the `properties` that a participant has at `/v1/info`. */
export async function readPropertiesOf(call: CallNode, node: NodeAddress, signal: AbortSignal): Promise<Properties> {
  const { properties } = await readInfo(call, node, signal);
  return Object(properties) as Properties;
}

/** What a participant says about itself at `/v1/info`; nothing if it has no such page. */
async function readInfo(call: CallNode, node: NodeAddress, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
  try {
    const answer = await call(node, { method: "GET", path: "/v1/info" }, inTime);
    const text = (await readAnswer(answer, INFO_BYTES_MAX)).toString("utf8");
    requireAccepted(answer);
    if (answer.status === 429 || answer.status >= 500) throw new ParticipantProblem(`it answered ${answer.status}`, { again: true });
    return answer.status === 200 ? objectIn(text) : {};
  } catch (thrown) {
    signal.throwIfAborted();
    if (inTime.aborted) throw new ParticipantProblem(`it did not answer within ${PROBE_MS} ms`, { again: true, cause: thrown });
    throw thrown;
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function declaredIn({ capabilities, secure_aggregation: steps }: Readonly<Record<string, unknown>>): ReadonlySet<Capability> {
  // Older nodes without capabilities list the steps of a secure sum.
  if (capabilities === undefined) return declaredCapabilities({ mask: Array.isArray(steps) });
  return declaredCapabilities(Object(capabilities) as Record<string, unknown>);
}
