/** Of generated images, by size (`1024x1792`) or by quality and size (`hd/1024x1792`); nano-USD per 1,000,000 images. */
export type ImagePrices = Readonly<Record<string, bigint>>;

/** What a request or an answer says of its images. */
export interface ImageKind {
  readonly size?: unknown;
  readonly quality?: unknown;
}

/** The size and the quality of images as one name, such as `hd/1024x1792`. Either may be missing; `auto` leaves it to the provider. */
export function imageName(given: ImageKind): string | undefined {
  const size = wordOf(given.size);
  const parts = [wordOf(given.quality), size && size !== AUTO && !SIZE.test(size) ? undefined : size];
  return parts.filter((part) => part !== undefined).join("/") || undefined;
}

/** Whether this is such a name. */
export function isImageName(name: string): boolean {
  return imageName(partsOf(name)) === name;
}

/** Whether a price can be set under this name. */
export function isImagePriceName(name: string): boolean {
  const { quality, size } = partsOf(name);
  return size !== undefined && size !== AUTO && quality !== AUTO && isImageName(name);
}

/** The name under which images are priced; undefined: they have no price of their own, and the base price counts. */
export function pricedImage(prices: ImagePrices, image: string | undefined): string | undefined {
  const { quality, size } = partsOf(image);
  const exactSize = size === undefined || size === AUTO ? USUAL_SIZE : size;
  const exactQuality = quality === undefined || quality === AUTO ? USUAL_QUALITY : quality;
  return [`${exactQuality}/${exactSize}`, exactSize].find((name) => Object.hasOwn(prices, name));
}

interface ImageRates {
  readonly output: bigint;
  readonly images?: ImagePrices | undefined;
}

/** What such an image costs. */
export function imagePrice({ images = {}, output }: ImageRates, image: string | undefined): bigint {
  const name = pricedImage(images, image);
  return name === undefined ? output : (images[name] ?? output);
}

/** The most that an image can cost where the provider chooses size or quality. */
export function dearestImagePrice({ images = {}, output }: ImageRates, image: string | undefined): bigint {
  const asked = partsOf(image);
  const isChosen = [asked.quality, asked.size].includes(AUTO) || pricedImage(images, image) === undefined;
  if (!isChosen) return imagePrice({ images, output }, image);
  const fits = (wanted: string | undefined, part: string | undefined) => wanted === undefined || wanted === AUTO || wanted === part;
  const fitting = Object.entries(images).flatMap(([name, price]) => {
    const { quality, size } = partsOf(name);
    return fits(asked.size, size) && (quality === undefined || fits(asked.quality, quality)) ? [price] : [];
  });
  return fitting.reduce((most, price) => (price > most ? price : most), output);
}

const AUTO = "auto";
const SIZE = /^\d{1,5}x\d{1,5}$/;
const WORD = /^[a-z0-9_-]{1,32}$/;
/** What providers make of a request that names neither. */
const USUAL_SIZE = "1024x1024";
const USUAL_QUALITY = "standard";

function wordOf(given: unknown): string | undefined {
  const word = typeof given === "string" ? given.toLowerCase() : "";
  return WORD.test(word) ? word : undefined;
}

function partsOf(image = ""): { readonly quality?: string | undefined; readonly size?: string | undefined } {
  const [first, second] = image.split("/");
  if (second !== undefined) return { quality: first, size: second };
  if (first === "" || first === undefined) return {};
  return SIZE.test(first) ? { size: first } : { quality: first };
}
