import { z } from "zod";
import { compileSchema, readSchema } from "../schema-checks/compile-schema.ts";
import { ALLOW, type Guardrail, type GuardrailBase } from "./guardrail.ts";

const schema = z.object({ schema: z.record(z.string(), z.unknown()) });

/** Every answer must be JSON that matches the operator's schema. */
export function jsonSchemaGuardrail(base: GuardrailBase, params: unknown): Guardrail {
  const check = compileSchema(readSchema(schema.parse(params).schema));
  return {
    ...base,
    stage: "post",
    reach: Number.POSITIVE_INFINITY,
    check: (texts) => {
      const problem = texts.map(check).find((found) => found !== undefined);
      return problem === undefined ? ALLOW : { action: "block", reason: `it does not match the JSON schema (${problem})` };
    },
  };
}
