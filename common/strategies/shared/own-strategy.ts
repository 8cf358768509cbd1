import { hash } from "node:crypto";
import { z } from "zod";
import { declareStrategy, type GivenStrategy, type Strategy } from "./strategy.ts";

/** Languages that an own strategy can be written in. */
const LANGUAGES = ["python", "typescript"] as const;

const SOURCE_BYTES_MAX = 64 * 1024;

/** Names of own strategies. Those of built-in strategies are taken. */
export const ownStrategyName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,63}$/, "must begin with a letter and have up to 64 lower-case letters, digits, hyphens and underscores");

/** A strategy of an organization. A federation has a copy of it, so that a change of the organization's does not change its rounds. */
export const ownStrategy = z.strictObject({
  language: z.enum(LANGUAGES, `must be one of: ${LANGUAGES.join(", ")}`),
  source: z
    .string()
    .min(1, "must not be empty")
    .refine((text) => Buffer.byteLength(text) <= SOURCE_BYTES_MAX, `must have at most ${SOURCE_BYTES_MAX} bytes`),
});
export type OwnStrategy = z.infer<typeof ownStrategy>;

/** The copy of an own strategy in a federation's settings; undefined for a built-in strategy. */
export function ownOf(strategy: GivenStrategy): OwnStrategy | undefined {
  return strategy["own"] as OwnStrategy | undefined;
}

/** What round records have beside an own strategy's settings, so that none of these can have the name. */
const RECORDED = ["round", "language", "source"] as const;

/** What is wrong with the settings of an own strategy, by setting. */
export const ownSettingProblems = (strategy: GivenStrategy): { setting: string; message: string }[] =>
  RECORDED.filter((setting) => Object.hasOwn(strategy, setting)).map((setting) => ({
    setting,
    message: `cannot be a setting of an own strategy, because round records have its ${setting} under this name; call it otherwise`,
  }));

/** What round records name an own strategy's source by. */
export const sourceHash = (source: string): string => hash("sha256", source, "hex");

/** What is known of an own strategy: it gets every update, in rounds, and its settings are its own. */
export const ownDeclaration = (name: string): Strategy =>
  declareStrategy({ name, description: "Own strategy", settings: {}, sees: "each", base: "optional", usesWeights: true });
