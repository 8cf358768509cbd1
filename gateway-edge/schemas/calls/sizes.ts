// Sizes of calls. Where a provider's own limit is lower, its refusal says so.

/** `n` of a call, as at OpenAI. */
export const CHOICES_MAX = 128;
/** Messages of a chat, or items of a response: a long session of an agent has thousands. */
export const MESSAGES_MAX = 10_000;
/** OpenAI takes 128, other providers more: agents with several MCP servers have hundreds. */
export const TOOLS_MAX = 512;
