import { z } from "zod";
import type { OperationDescription, ResponseDescription } from "../schemas/operation-description.ts";
import { errorRecord } from "../schemas/records.ts";
import type { CodeSample } from "./reference/code-sample.ts";
import { codeSamples } from "./reference/code-samples.ts";
import { requestExample } from "./reference/request-example.ts";

export type JsonSchema = { [key: string]: unknown };

export interface OpenApiOperation {
  operationId: string;
  summary: string;
  tags: readonly string[];
  security: readonly Record<string, readonly string[]>[];
  parameters?: readonly { name: string; in: "path" | "query"; required: boolean; schema: JsonSchema }[];
  requestBody?: { required: boolean; content: Record<string, { schema: JsonSchema; example?: unknown }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: JsonSchema }> }>;
  "x-codeSamples": readonly CodeSample[];
}

export interface OpenApiDocument {
  openapi: "3.1.0";
  info: { title: string; version: string; description: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, OpenApiOperation>>;
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, JsonSchema> };
}

const DESCRIPTION = [
  "Amounts are integer nano-USD (1 USD = 1,000,000,000); a sibling field `...Usd` has the exact decimal string.",
  "Field names are accepted in camelCase and in snake_case. Lists are `{data, meta}` with `page` and `pageSize`.",
  "Writes accept an `Idempotency-Key`: the same key and body within 24 hours returns the same response, with `idempotent-replayed: true`.",
  "Samples read `B` (the address of the gateway), `KEY` (an API key) and `TOKEN` (of a log-in) from the environment; IDs, models and files in them stand for your own.",
].join("\n\n");

const SECURITY: Readonly<Record<OperationDescription["auth"], readonly Record<string, readonly string[]>[]>> = {
  none: [],
  user: [{ platformToken: [] }],
  admin: [{ platformToken: [] }],
  key: [{ apiKey: [] }, { bearerKey: [] }],
};

/** The OpenAPI 3.1 document, made from the same declarations that serve the requests. */
export function openApiDocument(operations: readonly OperationDescription[]): OpenApiDocument {
  const schemas: Record<string, JsonSchema> = {};
  const paths: OpenApiDocument["paths"] = {};
  const tags = new Set<string>();
  for (const entry of operations) {
    const path = entry.path.replace(/[:*]([A-Za-z]\w*)/g, "{$1}");
    paths[path] = { ...paths[path], [entry.method]: describe(entry, schemas) };
    for (const tag of entry.tags) tags.add(tag);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Tributary", version: "1", description: DESCRIPTION },
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([left], [right]) => left.localeCompare(right))),
      securitySchemes: {
        platformToken: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "From POST /api/auth/token." },
        apiKey: { type: "apiKey", in: "header", name: "x-gw-api-key" },
        bearerKey: { type: "http", scheme: "bearer", description: "The API key itself." },
      },
    },
  };
}

function describe(entry: OperationDescription, schemas: Record<string, JsonSchema>): OpenApiOperation {
  const parameters = [...parametersOf(entry, "path", schemas), ...parametersOf(entry, "query", schemas)];
  const body = entry.body && toSchema(entry.body, schemas);
  const { body: example } = requestExample(entry);
  return {
    operationId: `${entry.method}${entry.path.replace(/[^A-Za-z0-9]+(.)?/g, (_match, next: string = "") => next.toUpperCase())}`,
    summary: entry.summary,
    tags: entry.tags,
    security: SECURITY[entry.auth],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: hasRequired(body),
            content: { [entry.bodyType ?? "application/json"]: { schema: body, ...(example ? { example } : {}) } },
          },
        }
      : {}),
    responses: {
      ...Object.fromEntries(Object.entries(entry.responses).map(([status, response]) => [status, describeResponse(response, schemas)])),
      ...(/^\/(api|training)\//.test(entry.path)
        ? { default: describeResponse({ description: "An error.", schema: errorRecord }, schemas) }
        : {}),
    },
    "x-codeSamples": codeSamples(entry),
  };
}

function describeResponse(
  { description, schema, contentType = "application/json" }: ResponseDescription,
  schemas: Record<string, JsonSchema>,
) {
  return schema ? { description, content: { [contentType]: { schema: toSchema(schema, schemas) } } } : { description };
}

function parametersOf(entry: OperationDescription, place: "path" | "query", schemas: Record<string, JsonSchema>) {
  const declared = place === "path" ? entry.params : entry.query;
  if (!declared) return [];
  const schema = toSchema(declared, schemas);
  const required = (schema["required"] ?? []) as string[];
  return Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>).map(([name, inner]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: inner,
  }));
}

function hasRequired(schema: JsonSchema): boolean {
  return Array.isArray(schema["required"]) && schema["required"].length > 0;
}

/** A zod schema as JSON Schema. Schemas with an id move to the components and are referenced. */
function toSchema(schema: z.ZodType, schemas: Record<string, JsonSchema>): JsonSchema {
  const converted = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input", unrepresentable: "any", override: asSentOnWire });
  const { $schema: _dialect, $defs: named, ...own } = refersToComponents(converted) as JsonSchema;
  for (const [id, { id: _same, ...definition }] of Object.entries((named ?? {}) as Record<string, JsonSchema>)) schemas[id] = definition;
  return own;
}

/** bigint and Date become integers and ISO 8601 strings; `meta({openapi})` replaces the schema of a field. */
function asSentOnWire({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { type } = zodSchema._zod.def;
  if (type === "bigint") Object.assign(jsonSchema, { type: "integer", format: "int64" });
  if (type === "date") Object.assign(jsonSchema, { type: "string", format: "date-time" });
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  const { openapi } = jsonSchema as { openapi?: object };
  if (openapi === undefined) return;
  for (const key of Object.keys(jsonSchema)) delete (jsonSchema as JsonSchema)[key];
  Object.assign(jsonSchema, openapi);
}

function refersToComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(refersToComponents);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "$ref" && typeof inner === "string" ? inner.replace("#/$defs/", "#/components/schemas/") : refersToComponents(inner),
    ]),
  );
}
