import type { Mode } from "./model-families.ts";

/** LiteLLM's modes as ours; others have no operation here. */
export const LITELLM_MODES: Readonly<Record<string, Mode>> = {
  chat: "chat",
  responses: "chat",
  completion: "completion",
  embedding: "embedding",
  image_generation: "image",
  image_edit: "image",
  audio_speech: "audio_speech",
  audio_transcription: "audio_transcription",
  moderation: "moderation",
  rerank: "rerank",
};
