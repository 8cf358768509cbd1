/** How a setting of a guardrail is given. `patterns`: texts, or objects with `pattern`, `name` and `action`. */
export type GuardrailSettingType = "text" | "texts" | "patterns" | "flag" | "count" | "object";

export interface GuardrailSetting {
  readonly type: GuardrailSettingType;
  readonly required?: true;
  /** The values that a text, or each text of a list, may have. */
  readonly choices?: readonly string[];
  readonly about: string;
}

export interface GuardrailKind {
  readonly about: string;
  /** The stage that the kind always has; absent: it is chosen. */
  readonly stage?: "pre" | "post";
  readonly settings: Readonly<Record<string, GuardrailSetting>>;
}

const ACTIONS: readonly string[] = ["block", "mask"];

/** Kinds of personal data that `pii-masking` finds. */
export const PII_ENTITIES: readonly string[] = ["EMAIL", "PHONE", "CREDIT_CARD", "IBAN", "IP", "SSN"];

/** The kinds of guardrails with their settings, under the names that the configuration file, the API and the console use. */
export const GUARDRAIL_KINDS: Readonly<Record<string, GuardrailKind>> = {
  "word-list": {
    about: "Blocks or masks whole words, in any case",
    settings: {
      words: { type: "texts", required: true, about: "Words or phrases" },
      action: { type: "text", choices: ACTIONS, about: "What is done with a match; block unless set" },
    },
  },
  regex: {
    about: "Blocks or masks what matches a regular expression",
    settings: {
      patterns: { type: "patterns", required: true, about: "Regular expressions" },
      action: { type: "text", choices: ACTIONS, about: "What is done with a match; block unless set" },
    },
  },
  "pii-masking": {
    about: "Masks personal data, or blocks it",
    settings: {
      entities: { type: "texts", choices: PII_ENTITIES, about: "Kinds of personal data; all unless set" },
      action: { type: "text", choices: ACTIONS, about: "What is done with a match; mask unless set" },
      unmask: { type: "flag", about: "Put the caller's own data back into the response" },
    },
  },
  "prompt-size": {
    about: "Limits the size of a request",
    stage: "pre",
    settings: {
      max_characters: { type: "count", about: "Most characters of a request" },
      max_texts: { type: "count", about: "Most texts of a request" },
    },
  },
  "json-schema": {
    about: "Requires responses to be JSON of a schema",
    stage: "post",
    settings: { schema: { type: "object", required: true, about: "JSON schema" } },
  },
  "moderation-model": {
    about: "Blocks what a moderation model of this gateway flags; each check is a billed call",
    settings: {
      model: { type: "text", required: true, about: "Name of the moderation model" },
      categories: { type: "texts", about: "Categories that block; all unless set" },
    },
  },
};
