/**
 * Who may import whom: the table of ARCHITECTURE.md as rules that fail `make check`.
 * Tests and shared test suites may reach further (TEST); main.ts, and a tool's *-main.ts, is where a port meets its adapter (WIRING).
 * Type-only imports count like any other: a type is a dependency too.
 */
const TEST = "(\\.test|-contract|-fixture|-harness)\\.tsx?$|/__fixtures__/";
const WIRING = "^([^/]+/(main|deps|app|server)|control-plane/tools/[a-z]+-main)\\.ts$";

const rooms = ["gateway-edge", "control-plane", "trainer-node", "console", "cli"];
/** What each room may see of the repository beside itself. The console and the CLI see only types of the public HTTP schemas; the CLI also the version, which headers hold keys, how money is read and written and how certificates name processes, both how a failure is ignored and how calls end, and the console how rounds of noise add up to epsilon. */
const visible = {
  "gateway-edge": "^(common|proto/gen)/",
  "control-plane": "^(common|proto/gen)/",
  "trainer-node": "^(common|proto/gen)/",
  console: "^(gateway-edge/schemas/|common/(ignore|training/(privacy-account|client-sampling)|usage-status|webhook-events)\\.ts$)",
  cli: "^(gateway-edge/schemas/|common/(credential-headers|ignore|json|money|usage-status|version|webhook-events|webhook-signature|peers/peer)\\.ts$)",
};
/** Every path of this repository that is not a library: what "nothing but" has to be measured against. */
const OURS = `^(${[...rooms, "common", "proto", "scripts", "test", "sdk", "deploy"].join("|")})/`;

const library = (...names) => `(^|/)node_modules/(@types/)?(${names.join("|")})(/|$)`;
const GRPC = library("@grpc/[^/]+", "grpc-health-check");
const DRIVERS = library("mongodb", "lmdb", "ioredis", "redis");

const forbid = (name, comment, from, to) => ({ name, comment, severity: "error", from, to });

const roomRules = rooms.map((room) =>
  forbid(
    `${room}-sees-only-its-own`,
    `${room} may import itself and ${visible[room]}; processes meet in proto/ or over HTTP, never by import.`,
    { path: `^${room}/`, pathNot: TEST },
    { path: OURS, pathNot: [`^${room}/`, visible[room]] },
  ),
);

/** The folders of the edge from the top down: a call goes down, and no folder imports one above it. */
const EDGE_LAYERS = ["server", "stored", "calls", "schemas", "credit", "upstream", "access"];
const edgeRules = EDGE_LAYERS.slice(1).map((layer, above) =>
  forbid(
    `edge-${layer}-never-upward`,
    `gateway-edge/${layer} is below ${EDGE_LAYERS.slice(0, above + 1).join(", ")}.`,
    { path: `^gateway-edge/${layer}/`, pathNot: TEST },
    { path: `^gateway-edge/(${EDGE_LAYERS.slice(0, above + 1).join("|")})/` },
  ),
);

// The world of the simulation and what lives in it name each other's types; nothing of it is loaded in a circle.
const SIMULATION = "^test/faults/sim/";

module.exports = {
  forbidden: [
    forbid("no-circular", "A cycle cannot be tested or understood in parts.", { pathNot: ["^proto/gen/", SIMULATION] }, { circular: true }),
    forbid("no-unresolved", "An import that resolves to nothing fails at start.", {}, { couldNotResolve: true }),
    forbid(
      "no-undeclared-library",
      "A library must be in package.json, not there by luck.",
      { pathNot: "^proto/gen/" },
      { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
    ),
    forbid(
      "no-dev-library-in-services",
      "Services run without development packages.",
      { path: "^(common|gateway-edge|control-plane|trainer-node|cli)/", pathNot: TEST },
      { dependencyTypes: ["npm-dev"], pathNot: "node_modules/@types/" },
    ),
    forbid(
      "no-test-in-product",
      "Product code never imports a test; the test runner and benchmarks set up what tests need.",
      {
        pathNot: [
          TEST,
          "^test/",
          "^scripts/(test|bench|demo|fault|security|fuzz|cluster|upgrade|alerts)[^/]*\\.ts$",
          "^scripts/(fault|demo|bench|fuzz|cluster|upgrade|alerts)/",
          "^scripts/test/run-jest\\.ts$",
        ],
      },
      { path: `^test/|\\.test\\.ts$` },
    ),
    forbid(
      "common-is-a-leaf",
      "common imports node, its libraries, the generated error codes and the messages of OTLP; nothing of a room.",
      { path: "^common/", pathNot: TEST },
      { path: OURS, pathNot: ["^common/", "^proto/gen/.*error", "^proto/gen/opentelemetry/"] },
    ),
    ...roomRules,
    ...edgeRules,
    forbid(
      "cli-sees-types-only",
      "The CLI is a client over HTTP: of the edge's schemas it may name types, and load nothing.",
      { path: "^cli/", pathNot: TEST },
      { path: "^gateway-edge/", dependencyTypesNot: ["type-only"] },
    ),
    forbid(
      "scripts-start-rooms-not-import-them",
      "scripts run services as processes; benchmarks of a store, the alert of a changed balance, the build of kernels and the page of settings are the exceptions.",
      { path: "^scripts/", pathNot: [TEST, "^scripts/(bench|promote|alerts|build-kernels|settings)[^/]*(\\.ts|/)"] },
      { path: `^(${rooms.join("|")})/` },
    ),
    forbid(
      "edge-http-no-provider-no-driver",
      "A route calls inference; it never sees a provider, a driver or a gRPC library. The port's types it may name.",
      { path: "^gateway-edge/server/", pathNot: TEST },
      {
        path: ["^gateway-edge/upstream/providers/", DRIVERS, GRPC],
        pathNot: "^gateway-edge/upstream/providers/(provider|shared/provider-text)\\.ts$",
      },
    ),
    forbid(
      "provider-pure",
      "A provider is pure: no web framework, no gRPC, no HTTP client, no socket.",
      { path: "^gateway-edge/upstream/providers/", pathNot: TEST },
      {
        path: [
          library("express", "express-[^/]+", "http-proxy-middleware", "undici"),
          GRPC,
          DRIVERS,
          "^(node:)?(http|https|http2|net|tls)$",
        ],
      },
    ),
    forbid(
      "provider-imports-its-port-only",
      "A provider imports the port and other files of providers/, never the rest of the edge.",
      { path: "^gateway-edge/upstream/providers/", pathNot: TEST },
      { path: "^gateway-edge/", pathNot: "^gateway-edge/upstream/providers/" },
    ),
    forbid(
      "provider-never-another-provider",
      "Siblings do not know each other; openai-compatible and shared are their base, the registry is the only list.",
      {
        path: "^gateway-edge/upstream/providers/([^/]+)/",
        pathNot: TEST,
      },
      {
        path: "^gateway-edge/upstream/providers/[^/]+/",
        pathNot: [
          "^gateway-edge/upstream/providers/($1|openai-compatible|shared)/",
          // Vertex serves Google's models, and Vertex and Bedrock Anthropic's: the same bodies at another address.
          "^gateway-edge/upstream/providers/(gemini|anthropic)/",
        ],
      },
    ),
    forbid(
      "domain-imports-common-only",
      "Pure: no I/O, no clock, no library; money and states only.",
      { path: "^control-plane/domain/", pathNot: TEST },
      { pathNot: ["^control-plane/domain/", "^common/", "^(node:)?assert(/strict)?$", "^(node:)?crypto$"] },
    ),
    forbid(
      "domain-no-clock-no-chance",
      "Time and chance are handed in. Hashing from node:crypto is pure; common/random and system clocks are not imported as values.",
      { path: "^control-plane/domain/", pathNot: TEST },
      { path: "^common/(grpc/|logger\\.ts$|process\\.ts$|config\\.ts$)" },
    ),
    forbid(
      "embedded-never-mongo",
      "The two store adapters do not know each other.",
      { path: "^control-plane/stores/embedded/", pathNot: TEST },
      { path: "^control-plane/stores/mongo/" },
    ),
    forbid(
      "mongo-never-embedded",
      "The two store adapters do not know each other.",
      { path: "^control-plane/stores/mongo/", pathNot: TEST },
      { path: "^control-plane/stores/embedded/" },
    ),
    forbid(
      "store-imports-port-domain-driver",
      "A store adapter knows the store port and the domain, not the services above it.",
      { path: "^control-plane/stores/", pathNot: TEST },
      { path: "^control-plane/", pathNot: "^control-plane/(stores|domain)/" },
    ),
    forbid(
      "store-adapter-only-in-wiring",
      "Everything but main.ts sees the store port, not an adapter.",
      { path: "^control-plane/", pathNot: ["^control-plane/stores/", WIRING, TEST] },
      { path: "^control-plane/stores/(embedded|mongo)/" },
    ),
    forbid(
      "mongodb-only-in-its-adapter",
      "One driver, one folder.",
      { path: OURS, pathNot: ["^control-plane/stores/mongo/", "^test/", "^scripts/bench", TEST] },
      { path: library("mongodb", "bson") },
    ),
    forbid(
      "lmdb-only-in-its-adapter",
      "One driver, one folder. (The edge's journal is a plain file.)",
      { path: OURS, pathNot: ["^control-plane/stores/embedded/", "^test/", TEST] },
      { path: library("lmdb") },
    ),
    forbid(
      "compute-imports-itself-only",
      "Number code runs in workers: pure, no library, no node module, nothing of the room; of the strategies it has their declarations.",
      { path: "^trainer-node/compute/", pathNot: TEST },
      { pathNot: "^(trainer-node/compute|common/strategies)/" },
    ),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(data|dist|coverage|\\.cache)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
      extensions: [".ts", ".tsx", ".js", ".cjs", ".mjs", ".json"],
    },
    skipAnalysisNotInRules: true,
  },
};
