import { z } from "zod";
import type { FormField } from "../../upstream/providers/provider.ts";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { formCount, formFile, formFlag, formObject } from "./form-fields.ts";
import { timeoutFields } from "./timeout-fields.ts";

const IMAGES_MAX = 10;
const PARTIAL_IMAGES_MAX = 3;
const PROMPT_CHARACTERS_MAX = 32_000;

const wholeNumber = (min: number, max: number) => z.number().refine(Number.isInteger, "must be a whole number").min(min).max(max).nullish();
const prompt = z.string().min(1).max(PROMPT_CHARACTERS_MAX);

/** An image generation request. Unlisted fields (style, ...) are passed to the provider unchanged. */
export const imagesRequest = z.looseObject({
  model: z.string().min(1).max(256),
  prompt,
  n: wholeNumber(1, IMAGES_MAX),
  size: z.string().max(32).nullish(),
  quality: z.string().max(32).nullish(),
  response_format: z.enum(["url", "b64_json"]).nullish(),
  output_format: z.string().max(32).nullish(),
  output_compression: wholeNumber(0, 100),
  partial_images: wholeNumber(0, PARTIAL_IMAGES_MAX),
  stream: z.boolean().nullish(),
  user: z.string().nullish(),
  ...timeoutFields,
});

export type ImagesRequest = WithoutNulls<z.output<typeof imagesRequest>>;

export function parseImagesRequest(body: unknown, pathModel?: string): ImagesRequest {
  return parseRequest(imagesRequest, body, pathModel);
}

/** The form of an image edit: one or several images, and a mask. */
export const imageEditsRequest = z.looseObject({
  image: formFile,
  "image[]": formFile,
  mask: formFile,
  model: z.string().min(1).max(256),
  prompt,
  n: formCount(1, IMAGES_MAX).optional(),
  size: z.string().max(32).optional(),
  quality: z.string().max(32).optional(),
  partial_images: formCount(0, PARTIAL_IMAGES_MAX).optional(),
  stream: formFlag.optional(),
  user: z.string().optional(),
});

export type ImageEditsRequest = WithoutNulls<z.output<typeof imageEditsRequest>>;

export function parseImageEditsForm(fields: readonly FormField[], pathModel?: string): ImageEditsRequest {
  return parseRequest(imageEditsRequest, formObject(fields), pathModel);
}
