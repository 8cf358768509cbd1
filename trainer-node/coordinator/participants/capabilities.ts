import { type Capability, declaredCapabilities } from "../../../common/training/capabilities.ts";
import { type CallNode, type NodeAddress, readAnswer, requireAccepted } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";

const INFO_BYTES_MAX = 1024 * 1024;
const PROBE_MS = 10_000;

/** Reads the capabilities that a participant declares at `/v1/info`. A participant that declares none has none. */
export async function readCapabilities(call: CallNode, node: NodeAddress, signal: AbortSignal): Promise<ReadonlySet<Capability>> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
  try {
    const answer = await call(node, { method: "GET", path: "/v1/info" }, inTime);
    const text = (await readAnswer(answer, INFO_BYTES_MAX)).toString("utf8");
    requireAccepted(answer);
    if (answer.status === 429 || answer.status >= 500) throw new ParticipantProblem(`it answered ${answer.status}`, { again: true });
    return answer.status === 200 ? declaredIn(text) : declaredCapabilities({});
  } catch (thrown) {
    signal.throwIfAborted();
    if (inTime.aborted) throw new ParticipantProblem(`it did not answer within ${PROBE_MS} ms`, { again: true, cause: thrown });
    throw thrown;
  }
}

function declaredIn(text: string): ReadonlySet<Capability> {
  try {
    const { capabilities, secure_aggregation: steps } = Object(JSON.parse(text)) as Record<string, unknown>;
    // Older nodes without capabilities list the steps of a secure sum.
    if (capabilities === undefined) return declaredCapabilities({ mask: Array.isArray(steps) });
    return declaredCapabilities(Object(capabilities) as Record<string, unknown>);
  } catch {
    return declaredCapabilities({});
  }
}
