import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { type FloatTensor, isFloat, type Tensor } from "../compute/tensor.ts";
import type { BlobFolder } from "../coordinator/blobs/blob-folder.ts";
import type { Participants } from "../coordinator/participants/participants.ts";

/** What a hostile virtual client sends in place of a float tensor that it trained; undefined for an honest client. */
export type Attack = (clientId: string, tensor: FloatTensor, start: FloatTensor | undefined) => FloatTensor["data"] | undefined;

/** Virtual clients of which some are hostile, to show what strategies withstand. */
export function withAttacks(clients: Participants, attack: Attack, blobs: BlobFolder): Participants {
  return {
    ...clients,
    train: async (node, task, signal) => {
      const update = await clients.train(node, task, signal);
      const starts = new Map((task.parameters === "" ? [] : await floatsIn(blobs, task.parameters)).map((tensor) => [tensor.name, tensor]));
      const { tensors, format } = decodeParameters(await blobs.read(update.blob));
      const sent = tensors.map((tensor): Tensor => {
        const data = isFloat(tensor) ? attack(task.clientId, tensor, starts.get(tensor.name)) : undefined;
        return data ? ({ ...tensor, data } as FloatTensor) : tensor;
      });
      const { sha256: blob, bytes } = await blobs.keepBytes(encodeParameters(sent, format));
      return { ...update, blob, bytes, layout: undefined };
    },
  };
}

async function floatsIn(blobs: BlobFolder, hash: string): Promise<FloatTensor[]> {
  return decodeParameters(await blobs.read(hash)).tensors.filter(isFloat);
}
