import { pricedImage } from "../common/image-prices.ts";
import { IMAGES_SETTING } from "../common/model-data/configured-price.ts";

type Fields = Readonly<Record<string, unknown>>;
type Entries = Readonly<Record<string, Fields>>;

const SIZED = /^(azure\/)?(?:(hd|standard|low|medium|high)\/)?(\d+)-x-(\d+)\/([^/]+)$/;

/** LiteLLM's list with its entries by size and quality (`hd/1024-x-1792/dall-e-3`) as prices of the model itself. */
export function withImageSizes(list: Entries): Entries {
  const sized = new Map<string, { fields: Fields; sizes: Record<string, string> }>();
  for (const [key, fields] of Object.entries(list)) {
    const [, prefix = "", quality, width, height, model] = SIZED.exec(key) ?? [];
    const usd = model && imageUsd(fields, Number(width) * Number(height));
    if (!usd) continue;
    const found = sized.get(`${prefix}${model}`) ?? { fields, sizes: {} };
    found.sizes[quality === undefined ? `${width}x${height}` : `${quality}/${width}x${height}`] = usd;
    sized.set(`${prefix}${model}`, found);
  }
  const models = [...sized].map(([key, { fields, sizes }]): [string, Fields] => [
    key,
    { ...baseOf(list[key], fields, sizes), [IMAGES_SETTING]: sizes },
  ]);
  return { ...list, ...Object.fromEntries(models) };
}

/** A model that the list has only by size costs what a request costs that names none. */
function baseOf(base: Fields | undefined, { litellm_provider, mode }: Fields, sizes: Readonly<Record<string, string>>): Fields {
  if (base) return base;
  const usual = pricedImage(Object.fromEntries(Object.keys(sizes).map((name) => [name, 0n])), undefined);
  return { litellm_provider, mode, ...(usual !== undefined && { output_cost_per_image: sizes[usual] }) };
}

/** Prices by the pixel are the published price of an image divided by its pixels: it is in tenths of a cent. */
function imageUsd(fields: Fields, pixels: number): string | undefined {
  const image = Number(fields["output_cost_per_image"] ?? fields["input_cost_per_image"] ?? 0);
  const pixel = Number(fields["output_cost_per_pixel"] ?? 0) + Number(fields["input_cost_per_pixel"] ?? 0);
  const usd = image > 0 ? String(image) : (pixel * pixels).toFixed(3);
  return Number(usd) > 0 ? usd : undefined;
}
