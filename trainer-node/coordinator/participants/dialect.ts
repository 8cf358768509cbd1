import { type CallNode, type NodeAddress, readAnswer } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";

/**
 * How a participant is spoken to. `octets`: our own nodes and SDK, parameters as they are. `train`: the document's JSON with base64.
 * `call`: its second generation, one route, and the data with the node.
 */
export type Dialect = "octets" | "train" | "call";

const INFO_BYTES_MAX = 1024 * 1024;
const LOOK_MS = 10_000;

/**
 * Finds out by looking, without asking for any work: our nodes describe themselves, and on most others a route that exists answers GET
 * with anything but 404. Some say 404 to GET on a route that takes POST: those are taken to be of the first generation until their answer
 * to the first work says otherwise.
 */
export async function findDialect(call: CallNode, node: NodeAddress, signal: AbortSignal): Promise<Dialect> {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  const look = async (path: string) => {
    const answer = await call(node, { method: "GET", path }, inTime);
    return { status: answer.status, text: (await readAnswer(answer, INFO_BYTES_MAX)).toString("utf8") };
  };
  try {
    const info = await look("/v1/info");
    if (info.status === 401 || info.status === 403) {
      throw new ParticipantProblem("it does not know us: give the federation the node's token", { again: false });
    }
    if (info.status === 200 && describesItself(info.text)) return "octets";
    if ((await look("/train")).status !== 404) return "train";
    return (await look("/call")).status !== 404 ? "call" : "train";
  } catch (thrown) {
    signal.throwIfAborted();
    if (inTime.aborted) throw new ParticipantProblem(`it did not answer within ${LOOK_MS} ms`, { again: true, cause: thrown });
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
