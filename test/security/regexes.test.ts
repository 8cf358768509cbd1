import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { check } from "recheck";
import { evidence } from "../helpers/evidence.ts";
import { type SourceRegex, sourceRegexes } from "./source-regexes.ts";

const root = resolve(import.meta.dirname, "../..");
const CHECK_MS = 20_000;
/** The binary of this platform; the other backends need Java or are ten times slower. */
process.env["RECHECK_BACKEND"] ??= "native";

/**
 * What recheck found to be linear before: all of them take it a minute, and longer on a busy machine, so only new ones are checked here.
 * `RECHECK=all` checks each of them again and writes the list.
 */
const LINEAR_FILE = join(root, "test/security/linear-regexes.json");
const IS_CHECKING_ALL = process.env["RECHECK"] === "all";
const linear = new Set(JSON.parse(readFileSync(LINEAR_FILE, "utf8")) as string[]);

/** Expressions that are not linear, and why no caller can hand them a long text. */
const BOUNDED: Readonly<Record<string, string>> = {
  "common/model-data/model-families.ts: /gpt-4o.*audio|gpt-audio/": "a model's name has at most 256 characters",
  "common/model-data/model-families.ts: /grok.*vision/": "a model's name has at most 256 characters",
  "common/model-data/model-families.ts: /sonar.*(reasoning|research)/": "a model's name has at most 256 characters",
  "common/money.ts: /\\.?0+$/": "a number",
  "control-plane/crypto/passwords.ts: /=+$/": "the end of base64 that was made here",
  "gateway-edge/calls/guardrails/pii-patterns.ts: /[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\\.[A-Za-z0-9-]{1,63}){1,8}/g":
    "every repetition has a limit; 200,000 characters take 0.3 s",
  "gateway-edge/calls/guardrails/pii-patterns.ts: /(?<![\\d.])(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?![\\d.]*\\d)/g":
    "it begins once in each run of digits and dots; 200,000 characters take 6 ms",
  "gateway-edge/server/http/redact.ts: /^(default_api_key_(tpm|rpm)_limit|litellm_credential_name|configurable_clientside_auth_params|.*_per_token.*|.*_token_cost.*|.*tokenizer)$/":
    "names of the operator's configuration",
  "gateway-edge/upstream/providers/gemini/errors.ts: /input token count .*(model only supports|exceeds)/i": "the first 2,000 characters",
  "gateway-edge/upstream/providers/shared/read-upstream-error.ts: /current length is .* while limit is/": "the first 2,000 characters",
  "gateway-edge/upstream/providers/shared/read-upstream-error.ts: /maximum input length is .* tokens/": "the first 2,000 characters",
  "gateway-edge/upstream/providers/shared/upstream-error-fields.ts: /\\b[\\w.+-]+@[\\w-]+\\.[\\w.-]+/g": "the first 2,000 characters",
  "gateway-edge/upstream/providers/shared/upstream-error-fields.ts: /\\b[\\w-]+\\.(?:openai|cognitiveservices|services\\.ai)\\.azure\\.com\\b/g":
    "the first 2,000 characters",
  "gateway-edge/upstream/providers/shared/upstream-error-retry.ts: /(\\d+(?:\\.\\d+)?)\\s*(ms|s|m|h|d)/gi": "the first 100 characters",
  "trainer-node/http/access.ts: /^bearer +(.*)$/i": "a header has no line feed, at which alone it would try again",
};

/** Files that make expressions from text, and whose text it is. */
const DYNAMIC: Readonly<Record<string, string>> = {
  "common/key-shape.ts": "of constants",
  "common/providers/client-params.ts": "of the operator's configuration, over addresses of at most 512 characters",
  "control-plane/gateway-config/check-groups.ts": "of the operator's configuration, escaped",
  "control-plane/gateway-config/read-guardrails.ts": "of the operator's configuration, only compiled",
  "gateway-edge/calls/guardrails/regex.ts": "of the operator's configuration",
  "gateway-edge/calls/guardrails/word-list.ts": "of the operator's words, escaped",
  "gateway-edge/calls/tokens/byte-pairs.ts": "of published vocabularies",
};

const { literals, dynamic } = sourceRegexes(root);
const textOf = ({ source, flags }: SourceRegex) => `/${source}/${flags}`;
const nameOf = (literal: SourceRegex) => `${literal.file}: ${textOf(literal)}`;
/** Without an open repetition the time for each place of the text has a limit. */
const repeats = ({ source }: SourceRegex) => /[*+]|\{\d+,\}/.test(source);

test("S-14: no expression in the source takes more than linear time, whatever the text", async () => {
  expect(literals.length).toBeGreaterThan(200);
  const repeating = literals.filter(repeats);
  const isKnown = (literal: SourceRegex) => !IS_CHECKING_ALL && (linear.has(textOf(literal)) || BOUNDED[nameOf(literal)] !== undefined);
  const unknown = [...new Map(repeating.filter((literal) => !isKnown(literal)).map((literal) => [textOf(literal), literal])).values()];
  const slow = new Map<string, string>();
  for (const { source, flags } of unknown) {
    const result = await check(source, flags, { timeout: CHECK_MS });
    if (result.status !== "safe")
      slow.set(`/${source}/${flags}`, result.status === "vulnerable" ? result.complexity.summary : result.error.kind);
  }
  const found = repeating.filter((literal) => slow.has(textOf(literal)) && BOUNDED[nameOf(literal)] === undefined);
  if (IS_CHECKING_ALL) writeLinear(repeating.map(textOf).filter((text) => !slow.has(text)));
  expect(found.map((literal) => `${nameOf(literal)}: ${slow.get(textOf(literal))}`)).toEqual([]);
  evidence(
    "S-14",
    `${literals.length} expressions, ${repeating.length} with open repetitions, of these ${Object.keys(BOUNDED).length} on short texts only`,
  );
}, 600_000);

test("S-14: the lists of checked expressions name only what is in the source", () => {
  const [texts, names] = [new Set(literals.map(textOf)), new Set(literals.map(nameOf))];
  expect([...linear].filter((text) => !texts.has(text))).toEqual([]);
  expect(Object.keys(BOUNDED).filter((name) => !names.has(name))).toEqual([]);
});

test("S-14: every file that makes expressions from text is listed with whose text it is", () => {
  expect(dynamic).toEqual(Object.keys(DYNAMIC).sort());
});

function writeLinear(texts: readonly string[]): void {
  writeFileSync(LINEAR_FILE, `${JSON.stringify([...new Set(texts)].sort(), undefined, 2)}\n`);
}
