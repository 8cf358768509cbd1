import type { Request, Response } from "express";
import { ignore } from "../../../common/ignore.ts";
import { TrainerError } from "../../errors.ts";
import { announcedBytes } from "../../http/blobs.ts";
import { tenantOf } from "../../http/tenant.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import type { AwaitedResult } from "./joined-work.ts";
import { ParticipantProblem } from "./participant-problem.ts";
import { boundedUpdate, mostBytesOf } from "./update-size.ts";

/**
 * Stores the update that a joined participant uploads as the result of its task. It counts for the organization of the federation, so it is
 * refused beyond what the task's model can have, and ends when the task does: nothing of it is left then.
 */
export async function receiveUpdate(
  blobs: BlobFolder,
  { task, origin, signal }: AwaitedResult,
  { request, response }: { request: Request; response: Response },
): Promise<{ sha256: string; bytes: number }> {
  const bounds = { most: await mostBytesOf(blobs, task.parameters ?? ""), announced: announcedBytes(request) };
  if (signal.aborted) throw tooLate();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const end = () => {
    // What has come as a whole is stored, and finishes the task if it still waits.
    if (request.complete) return;
    // Behind the answer, so that the participant gets it. The rest of the upload fails then, and its bytes are given back.
    response.once("finish", () => request.destroy());
    reject(tooLate());
  };
  signal.addEventListener("abort", end, { once: true });
  // Room is taken as bytes arrive: a size that is only announced would take it from all federations of the organization.
  const chunks = boundedUpdate(request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>, bounds);
  const kept = blobs.of(tenantOf(request), origin).keep(chunks);
  void ignore(kept, "it is raced below");
  try {
    return await Promise.race([kept, late]);
  } catch (thrown) {
    if (!(thrown instanceof ParticipantProblem)) throw thrown;
    throw new TrainerError("PAYLOAD_TOO_LARGE", `The result is too large: ${thrown.message}.`);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** The refusal of a result that nothing waits for. */
export const tooLate = (): TrainerError =>
  new TrainerError("ROUND_CLOSED", "The result is too late: its round is closed or its call was repeated. Ask for the next task.");
