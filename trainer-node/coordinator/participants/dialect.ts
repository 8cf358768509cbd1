import { type CallNode, type NodeAddress, readAnswer, requireAccepted } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";

/**
 * The protocol of a participant. `octets`: our nodes and SDK, parameters as bytes. `train`: FLock's JSON with base64. `call`: its second
 * generation, with one route and the dataset on the node.
 */
export type Dialect = "octets" | "train" | "call";

const INFO_BYTES_MAX = 1024 * 1024;
const PROBE_MS = 10_000;

/**
 * Finds a participant's dialect without giving it work: our nodes describe themselves, and on most others an existing route answers GET
 * with anything but 404. Some answer 404 to GET on a POST route; they are treated as the first generation until their answer to the first
 * call shows otherwise.
 */
export async function findDialect(call: CallNode, node: NodeAddress, signal: AbortSignal): Promise<Dialect> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
  const probe = async (path: string) => {
    const answer = await call(node, { method: "GET", path }, inTime);
    return { answer, status: answer.status, text: (await readAnswer(answer, INFO_BYTES_MAX)).toString("utf8") };
  };
  try {
    const info = await probe("/v1/info");
    requireAccepted(info.answer);
    if (info.status === 200 && describesItself(info.text)) return "octets";
    if ((await probe("/train")).status !== 404) return "train";
    return (await probe("/call")).status !== 404 ? "call" : "train";
  } catch (thrown) {
    signal.throwIfAborted();
    if (inTime.aborted) throw new ParticipantProblem(`it did not answer within ${PROBE_MS} ms`, { again: true, cause: thrown });
    throw thrown;
  }
}

function describesItself(text: string): boolean {
  try {
    return Array.isArray((JSON.parse(text) as { formats?: unknown }).formats);
  } catch {
    return false;
  }
}
