import { strategyNamed } from "../../../common/strategies/shared/registry.ts";
import type { FederationSettings } from "../../../common/training/federation-settings.ts";
import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { CONTROL_PREFIX, splitControls } from "../../compute/control-variates.ts";
import { type DType, type FloatTensor, isFloat, isFloatType } from "../../compute/tensor.ts";
import type { BlobFolder } from "../blobs/blob-folder.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { layoutOfBlob } from "./inspect-blob.ts";
import { type Layout, OPAQUE } from "./inspect-update.ts";

type Chosen = Pick<FederationSettings, "strategy">;

/**
 * Initial parameters as the strategy starts from them. The server's control variate is the mean of those of the participants, which start
 * at 0, so one that another federation or a participant made is replaced by zeros, or left out where the strategy has none.
 */
export async function withFittingControls(blobs: BlobFolder, sha256: string, { strategy }: Chosen): Promise<string> {
  const { carriesControls } = strategyNamed(strategy.name);
  const layout = await layoutOfBlob(blobs, sha256);
  if (layout === OPAQUE || (!carriesControls && !hasControls(layout))) return sha256;
  const { tensors, format } = decodeParameters(await blobs.read(sha256));
  const { model } = splitControls(tensors);
  const fitting = carriesControls ? [...model, ...model.filter(isFloat).map(zeroControl)] : model;
  // An npy file has one tensor only.
  return (await blobs.keepBytes(encodeParameters(fitting, format === "npy" ? "safetensors" : format))).sha256;
}

const zeroControl = ({ name, dtype, shape, data }: FloatTensor): FloatTensor => ({
  ...{ name: CONTROL_PREFIX + name, dtype, shape },
  data: data.map(() => 0),
});

const hasControls = (layout: Layout): boolean => placesIn(layout).some(([name]) => name.startsWith(CONTROL_PREFIX));

type Place = [name: string, dtype: DType, shape: number[]];

const placesIn = (layout: Layout): Place[] => JSON.parse(layout) as Place[];

/** Refuses an update without the control variates that the strategy needs, before its layout becomes that of the round. */
export function requireControls(layout: Layout, { strategy }: Chosen): void {
  if (!strategyNamed(strategy.name).carriesControls) return;
  const places = placesIn(layout);
  const known = new Set(places.map((place) => JSON.stringify(place)));
  const isLonely = ([name, dtype, shape]: Place): boolean =>
    isFloatType(dtype) && !name.startsWith(CONTROL_PREFIX) && !known.has(JSON.stringify([CONTROL_PREFIX + name, dtype, shape]));
  const lonely = places.find(isLonely)?.[0];
  if (lonely === undefined) return;
  const needed = `a tensor "${CONTROL_PREFIX}${lonely}" of the type and shape of "${lonely}"`;
  throw new ParticipantProblem(`MISSING_CONTROLS: it must send ${needed}, which ${strategy.name} needs`, { again: false });
}
