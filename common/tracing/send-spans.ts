import { ExportTraceServiceResponse } from "../../proto/gen/opentelemetry/proto/collector/trace/v1/trace_service.ts";
import { operatorFetch } from "../operator-fetch.ts";
import { encodeExport } from "./otlp.ts";
import type { Attributes } from "./span.ts";
import type { ExportOutcome, SendSpans } from "./span-exporter.ts";

export interface Receiver {
  /** The address of OTLP/HTTP, without `/v1/traces`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Attributes;
  readonly version: string;
}

const TIMEOUT_MS = 10_000;
const CONTENT_TYPE = "application/x-protobuf";
/** By OTLP, only these may be sent again. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Sends batches to a receiver of OTLP/HTTP. */
export function createSendSpans({ endpoint, headers, resource, version }: Receiver): SendSpans {
  const url = `${endpoint}/v1/traces`;
  return async (spans, signal) => {
    try {
      const answer = await operatorFetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": CONTENT_TYPE },
        body: Buffer.from(encodeExport(spans, { resource, version })),
        redirect: "error",
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      return await outcomeOf(answer, spans.length);
    } catch (error) {
      return { type: "failed", reason: reasonOf(error), again: true };
    }
  };
}

async function outcomeOf(answer: Response, count: number): Promise<ExportOutcome> {
  const body = Buffer.from(await answer.arrayBuffer());
  if (!answer.ok) return { type: "failed", reason: `status ${answer.status}`, again: RETRYABLE.has(answer.status) };
  return { type: "taken", rejected: Math.min(count, rejectedBy(answer, body)) };
}

/** A receiver that answers in another format took everything. */
function rejectedBy(answer: Response, body: Buffer): number {
  if (!answer.headers.get("content-type")?.startsWith(CONTENT_TYPE)) return 0;
  return Number(ExportTraceServiceResponse.decode(body).partialSuccess?.rejectedSpans ?? 0n);
}

/** Codes of the network, without texts that may name credentials. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  return cause?.code ?? name ?? "unknown";
}
