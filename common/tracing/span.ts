/** The value of an attribute; whole numbers are integers in OTLP. Undefined: the attribute is absent. */
export type AttributeValue = string | number | boolean | bigint | readonly string[] | undefined;

export type Attributes = Readonly<Record<string, AttributeValue>>;

/** The kinds of spans that are made here. */
export type SpanKind = "server" | "client" | "internal" | "consumer";

export interface SpanEvent {
  readonly name: string;
  /** Milliseconds since 1970, with fractions. */
  readonly atMs: number;
  readonly attributes?: Attributes;
}

/** Attributes with texts of callers. They are computed when the span is exported. */
export interface SpanContent {
  /** About how much memory they take. */
  readonly bytes: number;
  attributes(): Attributes;
}

/** A span that has ended. */
export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** Only where the organization of the call agreed. */
  readonly content?: SpanContent | undefined;
  readonly events?: readonly SpanEvent[] | undefined;
  /** Why it failed, without texts of callers or providers. Absent: it did not. */
  readonly error?: string | undefined;
}
