import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ExportTraceServiceRequest } from "../../proto/gen/opentelemetry/proto/collector/trace/v1/trace_service.ts";
import type { AnyValue, KeyValue } from "../../proto/gen/opentelemetry/proto/common/v1/common.ts";
import type { Span } from "../../proto/gen/opentelemetry/proto/trace/v1/trace.ts";

/** A span as OpenTelemetry's own definition decodes it, with ids in hex and attributes by name. */
export interface ReceivedSpan {
  readonly service: unknown;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: Span["kind"];
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly atMs: number }[];
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The bytes of all exports, as text: what must not be in them can be searched for. */
  text(): string;
  /** Headers of the exports. */
  readonly headers: readonly IncomingMessage["headers"][];
  /** From now on exports are accepted and never answered. */
  hang(): void;
  stop(): Promise<void>;
}

/** A receiver of OTLP/HTTP. With OTLP_FORWARD, every export goes to that collector too, and its answer is the answer. */
export async function startOtlpReceiver(forwardTo = process.env["OTLP_FORWARD"]): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const headers: IncomingMessage["headers"][] = [];
  let isHanging = false;
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await bodyOf(request);
    if (isHanging) return;
    bodies.push(body);
    headers.push(request.headers);
    spans.push(...spansOf(body));
    const status = forwardTo === undefined ? 200 : await forward(`${forwardTo}${request.url}`, body);
    response.writeHead(status, { "content-type": "application/x-protobuf" }).end();
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    text: () => Buffer.concat(bodies).toString("latin1"),
    hang: () => {
      isHanging = true;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

async function forward(url: string, body: Buffer): Promise<number> {
  const { status } = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/x-protobuf" },
    body: new Uint8Array(body),
  });
  return status;
}

function spansOf(body: Buffer): ReceivedSpan[] {
  return ExportTraceServiceRequest.decode(body).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = attributesOf(resource?.attributes ?? [])["service.name"];
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => received(span, service)));
  });
}

const received = (span: Span, service: unknown): ReceivedSpan => ({
  service,
  traceId: hex(span.traceId),
  spanId: hex(span.spanId),
  parentSpanId: hex(span.parentSpanId),
  name: span.name,
  kind: span.kind,
  startMs: milliseconds(span.startTimeUnixNano),
  endMs: milliseconds(span.endTimeUnixNano),
  isError: span.status?.code === 2,
  attributes: attributesOf(span.attributes),
  events: span.events.map(({ name, timeUnixNano }) => ({ name, atMs: milliseconds(timeUnixNano) })),
});

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const milliseconds = (nanoseconds: bigint): number => Number(nanoseconds / 1000n) / 1000;

const attributesOf = (pairs: readonly KeyValue[]): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, plain(value)]));

function plain(any: AnyValue | undefined): unknown {
  const value = any?.value;
  if (value?.$case === "arrayValue") return value.value.values.map(plain);
  return value?.$case === "intValue" ? Number(value.value) : value?.value;
}
