import { CAPABILITIES, type Capability } from "../../../common/capabilities.ts";
import { type CallNode, type NodeAddress, readAnswer } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";

const INFO_BYTES_MAX = 1024 * 1024;
const LOOK_MS = 10_000;

/** What a participant declares at its `/v1/info`; a program that declares nothing can do nothing of it. */
export async function readCapabilities(call: CallNode, node: NodeAddress, signal: AbortSignal): Promise<ReadonlySet<Capability>> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  try {
    const answer = await call(node, { method: "GET", path: "/v1/info" }, inTime);
    const text = (await readAnswer(answer, INFO_BYTES_MAX)).toString("utf8");
    if (answer.status === 401 || answer.status === 403)
      throw new ParticipantProblem("it does not know us: give the federation the node's token", { again: false });
    if (answer.status === 429 || answer.status >= 500) throw new ParticipantProblem(`it answered ${answer.status}`, { again: true });
    return answer.status === 200 ? declaredIn(text) : new Set();
  } catch (thrown) {
    signal.throwIfAborted();
    if (inTime.aborted) throw new ParticipantProblem(`it did not answer within ${LOOK_MS} ms`, { again: true, cause: thrown });
    throw thrown;
  }
}

function declaredIn(text: string): ReadonlySet<Capability> {
  try {
    const { capabilities, secure_aggregation: steps } = Object(JSON.parse(text)) as Record<string, unknown>;
    const declared = Object(capabilities) as Record<string, unknown>;
    // Nodes of versions without capabilities name the steps of a secure sum.
    const isAble = (name: Capability) => declared[name] === true || (name === "mask" && capabilities === undefined && Array.isArray(steps));
    return new Set(CAPABILITIES.filter(isAble));
  } catch {
    return new Set();
  }
}
