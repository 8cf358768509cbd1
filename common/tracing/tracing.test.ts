import fc from "fast-check";
import { fakeClock } from "../../gateway-edge/access/clock-fixture.ts";
import { ConfigError, readConfig } from "../config.ts";
import { type Logger, silentLogger } from "../logger.ts";
import { openExporter } from "./open-exporter.ts";
import { encodeExport } from "./otlp.ts";
import { createSampler } from "./sampler.ts";
import type { Span } from "./span.ts";
import {
  BATCH_CONTENT_BYTES_MAX,
  BATCH_MAX,
  type ExportOutcome,
  QUEUE_CONTENT_BYTES_MAX,
  QUEUE_MAX,
  SpanExporter,
} from "./span-exporter.ts";
import { traceSettings } from "./trace-settings.ts";
import { formatTraceparent, parseTraceparent } from "./traceparent.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test("a traceparent is read as W3C says, and everything else begins a new trace", () => {
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true });
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-00`)?.isSampled).toBe(false);
  // Only the last flag is defined; later versions may have more fields.
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-fe`)?.isSampled).toBe(false);
  expect(parseTraceparent(`cc-${TRACE}-${SPAN}-01-more`)?.traceId).toBe(TRACE);
  for (const refused of [
    undefined,
    "",
    [`00-${TRACE}-${SPAN}-01`],
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    ` 00-${TRACE}-${SPAN}-01`,
  ]) {
    expect(parseTraceparent(refused)).toBeUndefined();
  }
});

test("whatever text arrives as traceparent, a valid one is sent on", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const parsed = parseTraceparent(text);
      expect(parsed === undefined || /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/.test(formatTraceparent(parsed))).toBe(true);
    }),
  );
});

test("samplers follow the caller's flag only if they are parent-based, and a ratio chooses its share of trace ids", () => {
  const sampled = { traceId: TRACE, spanId: SPAN, isSampled: true };
  const unsampled = { ...sampled, isSampled: false };
  const decide = (name: Parameters<typeof createSampler>[0], parent?: typeof sampled) => createSampler(name, 0)(TRACE, parent);
  expect([decide("always_on", unsampled), decide("always_off", sampled)]).toEqual([true, false]);
  expect([decide("parentbased_always_on"), decide("parentbased_always_on", unsampled)]).toEqual([true, false]);
  expect([decide("parentbased_always_off"), decide("parentbased_always_off", sampled)]).toEqual([false, true]);
  expect([decide("parentbased_traceidratio"), decide("parentbased_traceidratio", sampled)]).toEqual([false, true]);
  const ratio = createSampler("traceidratio", 0.25);
  const ids = Array.from(
    { length: 4000 },
    (_, index) =>
      `${"0".repeat(19)}${Math.floor((index / 4000) * 16 ** 13)
        .toString(16)
        .padStart(13, "0")}`,
  );
  expect(ids.filter((id) => ratio(id, undefined))).toHaveLength(1000);
  expect(ids.every((id) => createSampler("traceidratio", 1)(id, undefined))).toBe(true);
});

test("settings are OpenTelemetry's own; headers are decoded, and an error does not repeat them", () => {
  expect(readConfig(traceSettings, {})).toEqual({
    otelExporterOtlpProtocol: "http/protobuf",
    otelTracesSampler: "parentbased_always_on",
    otelTracesSamplerArg: 1,
  });
  const set = readConfig(traceSettings, {
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.test:4318/otel/",
    OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Basic%20cGs6c2s=, x-project = 7",
  });
  expect(set).toMatchObject({
    otelExporterOtlpEndpoint: "https://collector.test:4318/otel",
    otelExporterOtlpHeaders: { authorization: "Basic cGs6c2s=", "x-project": "7" },
  });
  const problems = problemsOf({
    OTEL_EXPORTER_OTLP_HEADERS: "a secret",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_TRACES_SAMPLER_ARG: "2",
  });
  expect(problems).toHaveLength(3);
  expect(problems.join()).toContain("OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf");
  expect(problems.join()).not.toContain("a secret");
});

test("without an endpoint there is no exporter", async () => {
  const config = readConfig(traceSettings, {});
  await expect(openExporter(config, { clock: fakeClock(), logger: silentLogger, role: "edge" })).resolves.toBeUndefined();
});

test("spans go out in batches within a second, and those that a receiver rejects are counted", async () => {
  const { exporter, sent, clock } = start(() => ({ type: "taken", rejected: 1 }));
  exporter.add(span("a"));
  exporter.add(span("b"));
  expect(sent).toEqual([]);
  await clock.advance(1000);
  expect(sent.map((batch) => batch.map(({ name }) => name))).toEqual([["a", "b"]]);
  expect(exporter.figures).toEqual({ exported: 1, dropped: 0, failed: 1, queued: 0 });
});

test("a receiver that never answers holds a bounded queue: the rest is dropped, counted, and nothing waits", async () => {
  const { exporter, sent, clock } = start(() => new Promise(() => {}));
  for (let index = 0; index < QUEUE_MAX + BATCH_MAX + 10; index++) {
    exporter.add(span(String(index)));
    if (index === BATCH_MAX - 1) await clock.advance(0);
  }
  expect(sent).toHaveLength(1);
  expect(exporter.figures).toEqual({ exported: 0, dropped: 10, failed: 0, queued: QUEUE_MAX });
});

test("texts of callers have their own bounds in the queue and in a batch; a span without room for them goes out without", async () => {
  const { exporter, sent, clock } = start(() => ({ type: "taken", rejected: 0 }));
  const large = { ...span("large"), content: { bytes: QUEUE_CONTENT_BYTES_MAX / 4, attributes: () => ({}) } };
  const small = { ...span("small"), content: { bytes: BATCH_CONTENT_BYTES_MAX / 2, attributes: () => ({}) } };
  for (const one of [large, large, large, large, small, span("plain")]) exporter.add(one);
  await clock.advance(10_000);
  expect(sent.map((batch) => batch.map(({ name, content }) => [name, content !== undefined]))).toEqual([
    [["large", true]],
    [["large", true]],
    [["large", true]],
    [["large", true]],
    [
      ["small", false],
      ["plain", false],
    ],
  ]);
  for (const one of [small, small, small]) exporter.add(one);
  await clock.advance(10_000);
  expect(sent.slice(5).map((batch) => batch.map(({ content }) => content !== undefined))).toEqual([[true, true], [true]]);
});

test("texts go out in small batches, because each is redacted in one turn, and these follow each other without a pause", async () => {
  const { exporter, sent, clock } = start(() => ({ type: "taken", rejected: 0 }));
  for (let index = 0; index < 10; index++) exporter.add({ ...span("text"), content: { bytes: 50_000, attributes: () => ({}) } });
  expect(sent).toEqual([]);
  await clock.advance(0);
  expect(sent.map((batch) => batch.length)).toEqual([2, 2, 2, 2]);
  await clock.advance(1000);
  expect(sent.map((batch) => batch.length)).toEqual([2, 2, 2, 2, 2]);
});

test("a span's texts are attributes of its export", () => {
  const content = { bytes: 1, attributes: () => ({ "gen_ai.input.messages": "[1]" }) };
  const body = encodeExport([{ ...span("one"), content }], { resource: {}, version: "1" });
  expect(Buffer.from(body).toString("latin1")).toContain("gen_ai.input.messages");
});

test("an unreachable receiver gets a batch again, with pauses, until it answers; one line is logged for each outage", async () => {
  const lines: string[] = [];
  const outcomes: ExportOutcome[] = [FAILED, FAILED, { type: "taken", rejected: 0 }];
  const { exporter, sent, clock } = start(() => outcomes.shift() ?? FAILED, { ...silentLogger, ...noting(lines) });
  exporter.add(span("a"));
  await clock.advance(1000);
  await clock.advance(999);
  expect(sent).toHaveLength(1);
  await clock.advance(1 + 2000);
  expect(sent).toHaveLength(3);
  expect(exporter.figures).toMatchObject({ exported: 1, failed: 0 });
  expect(lines).toEqual(["traces cannot be exported; calls are not affected (OTEL_EXPORTER_OTLP_ENDPOINT)", "traces are exported again"]);
});

test("a batch that is refused, or that fails for too long, is given up and counted", async () => {
  const refusing = start(() => ({ ...FAILED, again: false }));
  refusing.exporter.add(span("a"));
  await refusing.clock.advance(1000);
  expect([refusing.sent.length, refusing.exporter.figures.failed]).toEqual([1, 1]);
  const down = start(() => FAILED);
  down.exporter.add(span("a"));
  await down.clock.advance(120_000);
  expect([down.sent.length, down.exporter.figures.failed]).toEqual([6, 1]);
});

test("a stop sends what is queued, and does not wait longer than it may", async () => {
  const well = start(() => ({ type: "taken", rejected: 0 }));
  well.exporter.add(span("a"));
  await well.exporter.stop(3000);
  expect(well.exporter.figures).toMatchObject({ exported: 1, queued: 0 });
  const down = start(() => FAILED);
  down.exporter.add(span("a"));
  const stopped = down.exporter.stop(3000);
  await down.clock.advance(3000);
  await stopped;
  expect(down.exporter.figures).toMatchObject({ failed: 1, queued: 0 });
});

const FAILED: ExportOutcome = { type: "failed", reason: "ECONNREFUSED", again: true };

function start(answer: () => ExportOutcome | Promise<ExportOutcome>, logger: Logger = silentLogger) {
  const clock = fakeClock();
  const sent: (readonly Span[])[] = [];
  const exporter = new SpanExporter({
    clock,
    logger,
    send: async (spans) => {
      sent.push(spans);
      return answer();
    },
  });
  return { exporter, sent, clock };
}

function noting(lines: string[]): Pick<Logger, "info" | "warn"> {
  const note = (_fields: object, message: string) => void lines.push(message);
  return { info: note, warn: note };
}

function span(name: string): Span {
  return { traceId: TRACE, spanId: SPAN, name, kind: "internal", startMs: 1, endMs: 2, attributes: {} };
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(traceSettings, environment);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    return thrown.problems;
  }
}
