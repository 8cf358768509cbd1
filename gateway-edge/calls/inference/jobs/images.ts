import { type ImageKind, imageName } from "../../../../common/image-prices.ts";
import { isTrue } from "../../../schemas/calls/form-fields.ts";
import type { ImageEditsRequest, ImagesRequest } from "../../../schemas/calls/images.ts";
import type { BytesPart, Fields, ImagesAdapter, Provider, ReportedUsage, StreamPart } from "../../../upstream/providers/provider.ts";
import { asFields, asList, malformed } from "../../../upstream/providers/shared/json-fields.ts";
import { NOTHING_REPORTED, readImageUsage } from "../../../upstream/providers/shared/media-usage.ts";
import type { Job, JobAnswer } from "../job.ts";
import { sumOfTokens } from "../joined-usage.ts";
import { textFieldsTraits } from "../traits/text-fields.ts";
import { type FormSource, formCallOf } from "./form-source.ts";
import { logTagsOf, providerFields, tagsOf } from "./gateway-fields.ts";
import { passEvents } from "./pass-events.ts";

/** An image in tokens, for models that are priced by tokens: the largest size at the best quality, generated or read. */
const MOST_TOKENS_PER_IMAGE = 7000;
const MOST_TOKENS_PER_PARTIAL_IMAGE = 100;
const MOST_TOKENS_PER_INPUT_IMAGE = 8000;
/** A usual image of medium quality; used where the provider reports no usage. */
const USUAL_TOKENS_PER_IMAGE = 1056;

export function imagesJob(request: ImagesRequest): Job<Fields> {
  const stream = request.stream === true;
  return {
    operation: "images",
    stream,
    tags: tagsOf(request),
    logTags: logTagsOf(request),
    ...countsOf({
      model: request.model,
      prompt: request.prompt,
      user: request.user,
      count: request.n ?? 1,
      partial: request.partial_images ?? 0,
      inputs: 0,
      image: imageName(request),
    }),
    ...(stream ? { offer: "images-streamed" } : {}),
    isOfferedBy: (provider) => provider.images !== undefined && (!stream || provider.images.streams),
    request: ({ provider, target }) => adapterOf(provider).buildRequest({ body: providerFields(request) }, target),
    readAnswer: (provider, body) => {
      const { answer, usage } = adapterOf(provider).readAnswer(body);
      return counted(answer, { usage, inputs: 0, asked: request });
    },
    readStream: (_provider, bytes) => passImages(bytes, { inputs: 0, asked: request }),
    traits: () => textFieldsTraits(request, ["prompt"], (changed) => imagesJob(changed as ImagesRequest)),
  };
}

/** An image edit; its form has arrived completely. */
export function imageEditsJob({ request, form }: { request: ImageEditsRequest; form: FormSource }): Job<Fields> {
  const inputs = form.files.length;
  const { model, prompt, user } = request;
  return {
    operation: "imageEdits",
    stream: isTrue(request.stream),
    tags: [],
    ...countsOf({
      model,
      prompt,
      user,
      count: Number(request.n ?? 1),
      partial: Number(request.partial_images ?? 0),
      inputs,
      image: imageName(request),
    }),
    isOfferedBy: (provider) => provider.imageEdits !== undefined,
    request: ({ provider, target }) => {
      if (!provider.imageEdits) throw new Error(`${provider.kind} has no image edits`);
      return provider.imageEdits.buildRequest(formCallOf(form), target);
    },
    readAnswer: (_provider, body) => {
      const answer = asFields(body);
      if (asList(answer["data"]).length === 0) throw malformed("an answer without images");
      return counted(answer, { usage: readImageUsage(answer), inputs, asked: request });
    },
    readStream: (_provider, bytes) => passImages(bytes, { inputs, asked: request }),
  };
}

interface Wanted {
  readonly model: string;
  readonly prompt: string;
  readonly user: string | undefined;
  readonly count: number;
  readonly partial: number;
  readonly inputs: number;
  readonly image: string | undefined;
}

/** The fields of an image job that depend on its size. */
function countsOf({ model, prompt, user, count, partial, inputs, image }: Wanted) {
  const images = { input: inputs, output: count };
  return {
    model,
    endUser: user,
    choiceCount: count,
    maxOutputTokens: MOST_TOKENS_PER_IMAGE + partial * MOST_TOKENS_PER_PARTIAL_IMAGE,
    countInput: (counter) => counter.countText(prompt) + inputs * MOST_TOKENS_PER_INPUT_IMAGE,
    most: { image: images },
    image,
    estimate: ({ inputTokens }) => ({ input: inputTokens, output: count * USUAL_TOKENS_PER_IMAGE, amounts: { image: images }, image }),
  } satisfies Partial<Job<Fields>>;
}

interface Asked {
  readonly inputs: number;
  readonly asked: ImageKind;
}

/** As the answer says it, where it does: a request can leave both to the provider. */
function deliveredImage(answer: Fields, asked: ImageKind): string | undefined {
  return imageName({ size: answer["size"] ?? asked.size, quality: answer["quality"] ?? asked.quality });
}

function counted(answer: Fields, { usage, inputs, asked }: Asked & { usage: ReportedUsage | undefined }): JobAnswer<Fields> {
  const amounts = { image: { input: inputs, output: asList(answer["data"]).length } };
  return { answer, usage: { ...NOTHING_REPORTED, ...usage, amounts, image: deliveredImage(answer, asked) }, texts: [] };
}

/** Several images arrive with an event and a usage each: the bill is the sum. */
async function* passImages(bytes: AsyncIterable<Uint8Array>, { inputs, asked }: Asked): AsyncGenerator<StreamPart | BytesPart> {
  let made = 0;
  let sum = NOTHING_REPORTED;
  const addedBy = (event: Fields) => {
    if (!String(event["type"]).endsWith(".completed")) return {};
    made++;
    return { amounts: { image: { input: inputs, output: made } }, image: deliveredImage(event, asked) };
  };
  for await (const part of passEvents(bytes, { addedBy, readUsage: readImageUsage })) {
    if (part.type === "usage") sum = plus(sum, part.usage);
    yield part.type === "usage" ? { type: "usage", usage: sum } : part;
  }
}

/** The number of images in a report is that of all before it. */
function plus(left: ReportedUsage, right: ReportedUsage): ReportedUsage {
  const sum = (name: "imagePromptTokens" | "imageCompletionTokens") => (left[name] ?? 0) + (right[name] ?? 0);
  const images = { imagePromptTokens: sum("imagePromptTokens"), imageCompletionTokens: sum("imageCompletionTokens") };
  return { ...sumOfTokens(left, right), ...images, ...(right.amounts ? { amounts: right.amounts, image: right.image } : {}) };
}

function adapterOf(provider: Provider): ImagesAdapter {
  if (!provider.images) throw new Error(`${provider.kind} has no images`);
  return provider.images;
}
