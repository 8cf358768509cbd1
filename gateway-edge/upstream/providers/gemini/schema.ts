import type { Fields } from "../provider.ts";
import { asFields, asList, asText } from "../shared/json-fields.ts";
import { invalid } from "./fields.ts";

/** References can double at each step: a schema of a few lines could become gigabytes. */
const NODES_MAX = 5000;

/** What Google's subset of OpenAPI takes unchanged; everything else is dropped or rewritten below. */
const SUPPORTED = [
  "title",
  "description",
  "nullable",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "pattern",
  "default",
  "propertyOrdering",
] as const;
const FORMATS = new Set(["enum", "date-time", "float", "double", "int32", "int64"]);

/** A JSON Schema as Google's subset of OpenAPI, on a copy: references resolved, unknown keywords dropped. */
export function geminiSchema(schema: unknown): Fields {
  return new Translation(asFields(schema)).node(schema, []);
}

/** True for a function without parameters: Google refuses an object without properties, so they are left out. */
export function takesNothing(schema: unknown): boolean {
  const { type, properties, anyOf, oneOf, allOf, $ref } = asFields(schema);
  const combined = anyOf ?? oneOf ?? allOf ?? $ref;
  return combined === undefined && (type === undefined || type === "object") && Object.keys(asFields(properties)).length === 0;
}

class Translation {
  #nodes = 0;
  readonly #root: Fields;

  constructor(root: Fields) {
    this.#root = root;
  }

  node(value: unknown, within: readonly string[]): Fields {
    if (++this.#nodes > NODES_MAX) throw invalid("The JSON schema is too large after its references are resolved.", "tools");
    const schema = asFields(value);
    const reference = schema["$ref"];
    if (typeof reference === "string") return this.#referred(reference, schema, within);
    if (asList(schema["allOf"]).length > 0) return this.#allOf(schema, within);
    const supported = Object.fromEntries(SUPPORTED.filter((name) => schema[name] !== undefined).map((name) => [name, schema[name]]));
    return {
      ...supported,
      ...(FORMATS.has(String(schema["format"])) ? { format: schema["format"] } : {}),
      ...this.#typed(schema, within),
      ...this.#choices(schema, within),
    };
  }

  /** A recursive reference cannot be resolved completely: from the second time on it is any object. */
  #referred(reference: string, { $ref: _reference, ...beside }: Fields, within: readonly string[]): Fields {
    if (within.includes(reference)) return { type: "object" };
    return this.node({ ...asFields(this.#lookUp(reference)), ...beside }, [...within, reference]);
  }

  /** `allOf` becomes one object with the properties of each. */
  #allOf({ allOf, ...own }: Fields, within: readonly string[]): Fields {
    const references = asList(allOf).flatMap((part) => asText(asFields(part)["$ref"]) ?? []);
    if (references.some((reference) => within.includes(reference))) return { type: "object" };
    const parts = [...asList(allOf).map(asFields), own].map(({ $ref, ...beside }) =>
      typeof $ref === "string" ? { ...asFields(this.#lookUp($ref)), ...beside } : beside,
    );
    const merged: Record<string, unknown> = Object.assign({}, ...parts);
    const properties: Fields = Object.assign({}, ...parts.map((part) => asFields(part["properties"])));
    if (Object.keys(properties).length > 0) merged["properties"] = properties;
    merged["required"] = parts.flatMap((part) => asList(part["required"]));
    return this.node(merged, [...within, ...references]);
  }

  #lookUp(reference: string): unknown {
    const steps = reference.replace(/^#\/?/, "").split("/").filter(Boolean);
    return steps.reduce<unknown>((value, step) => (Array.isArray(value) ? value : asFields(value))[unescaped(step) as never], this.#root);
  }

  #typed(schema: Fields, within: readonly string[]): Fields {
    const types = (Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]]).filter((type) => typeof type === "string");
    const nullable = types.includes("null") ? { nullable: true } : {};
    const [first, ...others] = types.filter((type) => type !== "null");
    if (others.length > 0) {
      const { title: _title, description: _description, type: _type, ...shared } = schema;
      return { ...nullable, anyOf: [first, ...others].map((type) => this.node({ ...shared, type }, within)) };
    }
    const type = first ?? guessedType(schema);
    if (type === undefined) return nullable;
    const values = { ...nullable, type, ...listedValues(schema, type) };
    if (type === "object") return { ...values, ...this.#object(schema, within) };
    return type === "array" ? { ...values, items: this.#items(schema, within) } : values;
  }

  #object(schema: Fields, within: readonly string[]): Fields {
    const properties = Object.entries(asFields(schema["properties"])).map(([name, inner]) => [name, this.node(inner, within)] as const);
    if (properties.length === 0) return {};
    const names = new Set(properties.map(([name]) => name));
    const required = asList(schema["required"]).filter((name) => names.has(String(name)));
    return { properties: Object.fromEntries(properties), ...(required.length > 0 ? { required } : {}) };
  }

  #items(schema: Fields, within: readonly string[]): Fields {
    const tuple = asList(schema["prefixItems"] ?? schema["items"]);
    if (tuple.length > 0) return { anyOf: tuple.map((item) => this.node(item, within)) };
    // A list must have an item type; where the schema has none, texts can hold anything.
    const items = Array.isArray(schema["items"]) ? {} : this.node(schema["items"], within);
    return Object.keys(items).length > 0 ? items : { type: "string" };
  }

  /** anyOf and oneOf; a null among them becomes a flag. */
  #choices(schema: Fields, within: readonly string[]): Fields {
    const choices = asList(schema["anyOf"] ?? schema["oneOf"]);
    if (choices.length === 0) return {};
    const others = choices.filter((choice) => asFields(choice)["type"] !== "null");
    const nullable = others.length < choices.length ? { nullable: true } : {};
    const nodes = others.map((choice) => this.node(choice, within));
    return nodes.length === 1 ? { ...nodes[0], ...nullable } : { anyOf: nodes, ...nullable };
  }
}

function guessedType(schema: Fields): string | undefined {
  if (schema["properties"] !== undefined) return "object";
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return "array";
  const sample = schema["const"] ?? asList(schema["enum"])[0];
  return sample === undefined ? undefined : typeof sample === "object" ? "object" : typeof sample;
}

/** Google lists values for texts only; values of other types are written into the description. */
function listedValues(schema: Fields, type: string): Fields {
  const listed = schema["const"] === undefined ? asList(schema["enum"]) : [schema["const"]];
  const values = listed.filter((value) => value !== null && value !== "");
  const nullable = listed.includes(null) ? { nullable: true } : {};
  if (values.length === 0) return nullable;
  if (type === "string") return { ...nullable, enum: values.map(String) };
  const said = typeof schema["description"] === "string" ? `${schema["description"]} ` : "";
  return { ...nullable, description: `${said}One of: ${values.map((value) => JSON.stringify(value)).join(", ")}.` };
}

function unescaped(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}
