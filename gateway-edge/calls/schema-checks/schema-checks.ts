import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { CheckReply } from "./check-task.ts";
import { type CheckPlace, type CheckThread, SchemaCheckThread } from "./check-thread.ts";
import { compileSchema, type ReadSchema, readSchema } from "./compile-schema.ts";
import { stepsOf } from "./schema-weight.ts";

/** What was found about answers. */
export type Checked =
  | { readonly type: "fits" }
  | { readonly type: "differs"; readonly problem: string }
  /** The check did not end in time, or was not made. */
  | { readonly type: "unchecked"; readonly reason: string };

export type AnswerCheck = (texts: readonly string[]) => Checked | Promise<Checked>;

/**
 * Checks answers against schemas that callers wrote. Nothing that such a schema says may hold up the event loop: only what is certain to be
 * short is done here, everything else in a thread with a time limit.
 */
export interface SchemaChecks {
  /** Throws INVALID_REQUEST for a schema that cannot be used, before a call is spent on it, and RATE_LIMIT_EXCEEDED if too many are compiled. */
  prepare(schema: Fields, place: CheckPlace): AnswerCheck | Promise<AnswerCheck>;
  close(): Promise<void>;
}

export interface SchemaChecksDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly thread?: CheckThread;
}

/** A schema of so many values compiles in one or two milliseconds. */
const LOOP_VALUES_MAX = 300;
/** So many steps, if all of them were made, take five milliseconds. */
const LOOP_STEPS_MAX = 250_000;
const KNOWN_MAX = 200;
const BUSY_RETRY_SECONDS = 5;

export function createSchemaChecks({ clock, logger, thread = new SchemaCheckThread(clock) }: SchemaChecksDeps): SchemaChecks {
  /** Schemas that the thread has compiled before, the oldest first. It compiles them again if it must. */
  const compiledApart = new Set<string>();

  async function apart(read: ReadSchema, place: CheckPlace, texts: readonly string[]): Promise<CheckReply> {
    const reply = await thread.run({ schema: read.text, texts }, place);
    if (reply.type === "failed") logger.error({ reason: reply.reason }, "the thread that checks JSON schemas ended");
    return reply;
  }

  async function preparedApart(read: ReadSchema, place: CheckPlace, check: AnswerCheck): Promise<AnswerCheck> {
    requireCompiled(await apart(read, place, []));
    const [oldest] = compiledApart;
    if (compiledApart.size >= KNOWN_MAX && oldest !== undefined) compiledApart.delete(oldest);
    compiledApart.add(read.text);
    return check;
  }

  return {
    prepare(schema, place) {
      const read = readSchema(schema);
      const checkApart = async (texts: readonly string[]) => checkedOf(await apart(read, place, texts));
      const { weight } = read;
      if (weight.values > LOOP_VALUES_MAX || !Number.isFinite(weight.expanded)) {
        return compiledApart.has(read.text) ? checkApart : preparedApart(read, place, checkApart);
      }
      const check = compileSchema(read);
      return (texts) => {
        const characters = texts.reduce((sum, text) => sum + text.length, 0);
        if (stepsOf(weight, characters) > LOOP_STEPS_MAX) return checkApart(texts);
        const problem = texts.map(check).find((found) => found !== undefined);
        return problem === undefined ? { type: "fits" } : { type: "differs", problem };
      };
    },
    close: () => thread.close(),
  };
}

/** The thread has compiled a schema, if it could. */
function requireCompiled(reply: CheckReply): void {
  if (reply.type === "checked") return;
  const param = "response_format";
  if (reply.type === "invalid") throw new AppError("INVALID_REQUEST", reply.message, { param });
  if (reply.type === "busy") {
    const message = "Too many JSON schemas are being checked. Try again in a few seconds.";
    throw new AppError("RATE_LIMIT_EXCEEDED", message, { param, retryAfterSeconds: BUSY_RETRY_SECONDS });
  }
  if (reply.type === "failed") throw new AppError("SERVER_ERROR", "The JSON schema could not be compiled.", { internal: reply.reason });
  throw new AppError("INVALID_REQUEST", "The JSON schema takes too long to compile. Make it smaller or simpler.", { param });
}

function checkedOf(reply: CheckReply): Checked {
  switch (reply.type) {
    case "checked":
      return reply.problem === undefined ? { type: "fits" } : { type: "differs", problem: reply.problem };
    case "slow":
      return { type: "unchecked", reason: "the check takes too long; make the schema simpler, or ask for a shorter answer" };
    case "busy":
      return { type: "unchecked", reason: "too many other answers are being checked" };
    default:
      return { type: "unchecked", reason: "the check failed" };
  }
}
