/** What a guardrail checks, by its stage. */
export const STAGES = { pre: "requests", post: "responses", both: "requests and responses" } as const;
