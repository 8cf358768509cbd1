import { ExportTraceServiceRequest } from "../../proto/gen/opentelemetry/proto/collector/trace/v1/trace_service.ts";
import type { AnyValue, KeyValue } from "../../proto/gen/opentelemetry/proto/common/v1/common.ts";
import {
  Span as OtlpSpan,
  Span_SpanKind as SpanKind,
  Status_StatusCode as StatusCode,
} from "../../proto/gen/opentelemetry/proto/trace/v1/trace.ts";
import type { Attributes, AttributeValue, Span } from "./span.ts";

const KINDS = {
  server: SpanKind.SPAN_KIND_SERVER,
  client: SpanKind.SPAN_KIND_CLIENT,
  internal: SpanKind.SPAN_KIND_INTERNAL,
  consumer: SpanKind.SPAN_KIND_CONSUMER,
} as const;

/** W3C's flags: the trace is sampled. Only sampled spans are exported. */
const SAMPLED = 1;
const SCOPE_NAME = "tributary";

/** The body of one export. */
export function encodeExport(spans: readonly Span[], { resource, version }: { resource: Attributes; version: string }): Uint8Array {
  const scopeSpans = [
    { scope: { name: SCOPE_NAME, version, attributes: [], droppedAttributesCount: 0 }, spans: spans.map(otlpSpan), schemaUrl: "" },
  ];
  const resourceSpans = [
    { resource: { attributes: keyValues(resource), droppedAttributesCount: 0, entityRefs: [] }, scopeSpans, schemaUrl: "" },
  ];
  return ExportTraceServiceRequest.encode({ resourceSpans }).finish();
}

function otlpSpan(span: Span): OtlpSpan {
  const { traceId, spanId, parentSpanId = "", name, kind, startMs, endMs, attributes, content, events = [], error } = span;
  return OtlpSpan.fromPartial({
    traceId: Buffer.from(traceId, "hex"),
    spanId: Buffer.from(spanId, "hex"),
    parentSpanId: Buffer.from(parentSpanId, "hex"),
    flags: SAMPLED,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
    attributes: keyValues(content ? { ...attributes, ...content.attributes() } : attributes),
    events: events.map((event) => ({
      name: event.name,
      timeUnixNano: nanoseconds(event.atMs),
      attributes: keyValues(event.attributes ?? {}),
    })),
    status: error === undefined ? undefined : { code: StatusCode.STATUS_CODE_ERROR, message: error },
  });
}

/** Microseconds are exact in a number; nanoseconds since 1970 are not. */
const nanoseconds = (milliseconds: number): bigint => BigInt(Math.round(milliseconds * 1000)) * 1000n;

function keyValues(attributes: Attributes): KeyValue[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value), keyStrindex: 0 }],
  );
}

function anyValue(value: NonNullable<AttributeValue>): AnyValue {
  if (typeof value === "string") return { value: { $case: "stringValue", value } };
  if (typeof value === "boolean") return { value: { $case: "boolValue", value } };
  if (typeof value === "bigint") return { value: { $case: "intValue", value } };
  if (typeof value !== "number") return { value: { $case: "arrayValue", value: { values: value.map(anyValue) } } };
  return Number.isSafeInteger(value) ? { value: { $case: "intValue", value: BigInt(value) } } : { value: { $case: "doubleValue", value } };
}
