import { characterCount, type SpeechRequest } from "../../../schemas/calls/speech.ts";
import type { BytesPart, Provider, SpeechAdapter } from "../../../upstream/providers/provider.ts";
import { spokenMilliseconds } from "../../tokens/audio/usual-durations.ts";
import type { Job } from "../job.ts";
import { textFieldsTraits } from "../traits/text-fields.ts";
import { logTagsOf, providerFields, tagsOf } from "./gateway-fields.ts";
import { passEvents } from "./pass-events.ts";

/** Audio tokens, where a model is priced by tokens and does not report them: about twenty per second. */
const MILLISECONDS_PER_TOKEN = 48;
/** For slow speech of five characters per second, with a margin. */
const MOST_TOKENS_PER_CHARACTER = 4;

/** Speech: bytes as they arrive, or OpenAI's events when the caller requested them. It has no whole answer. */
export function speechJob(request: SpeechRequest): Job<never> {
  const characters = { input: characterCount(request.input), output: 0 };
  const isEvents = request.stream_format === "sse";
  const slowness = 1 / Math.min(1, request.speed ?? 1);
  return {
    operation: "speech",
    model: request.model,
    stream: isEvents,
    ...(isEvents ? {} : { passesBytes: true }),
    choiceCount: 1,
    maxOutputTokens: Math.ceil((characters.input * MOST_TOKENS_PER_CHARACTER + 100) * slowness),
    endUser: undefined,
    tags: tagsOf(request),
    logTags: logTagsOf(request),
    countInput: (counter) => counter.countText(textIn(request)),
    most: { character: characters },
    estimate: ({ bytes, inputTokens }) => {
      const sound = isEvents ? (bytes * 3) / 4 : bytes;
      const output = Math.ceil(spokenMilliseconds(sound, request.response_format ?? "mp3") / MILLISECONDS_PER_TOKEN);
      return { input: inputTokens, output, amounts: { character: characters } };
    },
    isOfferedBy: (provider) => provider.speech !== undefined,
    request: ({ provider, target }) => adapterOf(provider).buildRequest({ body: providerFields(request) }, target),
    readAnswer: () => {
      throw new Error("speech has no whole answer");
    },
    readStream: (_provider, body) => (isEvents ? passEvents(body) : passBytes(body)),
    traits: () => textFieldsTraits<never>(request, ["input", "instructions"], (changed) => speechJob(changed as SpeechRequest)),
  };
}

async function* passBytes(body: AsyncIterable<Uint8Array>): AsyncGenerator<BytesPart> {
  for await (const bytes of body) if (bytes.length > 0) yield { type: "bytes", bytes };
}

function textIn({ input, instructions }: SpeechRequest): string {
  return instructions === undefined ? input : `${instructions}\n${input}`;
}

function adapterOf(provider: Provider): SpeechAdapter {
  if (!provider.speech) throw new Error(`${provider.kind} has no speech`);
  return provider.speech;
}
