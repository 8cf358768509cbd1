import { z } from "zod";
import { secretSetting } from "../secret-files.ts";
import { SAMPLERS } from "./sampler.ts";

/** How a process exports traces: OpenTelemetry's own settings. */
export const traceSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .transform((url) => url.replace(/(?<!\/)\/+$/, ""))
    .optional()
    .describe("Address of an OTLP/HTTP receiver, to which traces of calls are sent (`/v1/traces` is appended). Unset, nothing is traced."),
  OTEL_EXPORTER_OTLP_HEADERS: secretSetting(
    z
      .string()
      .transform((text, context) => readHeaders(text) ?? invalidHeaders(context))
      .optional()
      .describe("Headers of every export, as `name=value` separated by commas, percent-encoded: the credential of the receiver."),
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(["http/protobuf"], "must be http/protobuf; the receiver's port for it is usually 4318")
    .default("http/protobuf")
    .describe("The protocol of exports."),
  OTEL_SERVICE_NAME: z.string().max(200).optional().meta({
    description: "`service.name` of the spans.",
    shownDefault: "`tributary-edge`, `tributary-control-plane`",
  }),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS)
    .default("parentbased_always_on")
    .describe("Which calls are traced. A `parentbased_` sampler follows the sampled flag of a caller that sends `traceparent`."),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number("must be a share from 0 to 1")
    .min(0)
    .max(1, "must be a share from 0 to 1")
    .default(1)
    .describe("Share of calls that the `traceidratio` samplers choose."),
};

/** What `readConfig` makes of them. */
export interface TraceConfig {
  readonly otelExporterOtlpEndpoint?: string | undefined;
  readonly otelExporterOtlpHeaders?: Readonly<Record<string, string>> | undefined;
  readonly otelServiceName?: string | undefined;
  readonly otelTracesSampler: (typeof SAMPLERS)[number];
  readonly otelTracesSamplerArg: number;
}

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/i;
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/** W3C baggage without properties; undefined if the text is not valid. */
function readHeaders(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",").filter((part) => part.trim() !== "")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at).trim();
    const value = decoded(pair.slice(at + 1).trim());
    if (at < 0 || !HEADER_NAME.test(name) || value === undefined || !HEADER_VALUE.test(value)) return undefined;
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

// The text is not repeated, because it has credentials.
function invalidHeaders(context: z.RefinementCtx): never {
  context.addIssue({ code: "custom", message: "must be name=value pairs, separated by commas and percent-encoded" });
  return z.NEVER;
}
