import { availableParallelism, tmpdir } from "node:os";
import { z } from "zod";
import { ConfigError, countSetting, portSetting, readConfig } from "../common/config.ts";
import { isLoopbackHost } from "../common/exposed.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const HOUR_MS = 3_600_000;

/** The validated settings of a trainer node. */
export type TrainerConfig = ReturnType<typeof readTrainerConfig>;

const servingSettings = {
  /** Threads that run served models. They start with the first call to a served model. */
  TRAINER_SERVE_THREADS: countSetting(Math.max(1, Math.floor(availableParallelism() / 2)), { min: 1, max: 1024 }),
  TRAINER_SERVE_QUEUE_MAX: countSetting(1000, { min: 0, max: 100_000 }),
  /** Memory for served models over all threads. The models that were used last stay in it. */
  TRAINER_MODEL_BYTES: countSetting(512 * MIB, { min: 0, max: Number.MAX_SAFE_INTEGER }),
  /** Addresses, separated by commas, of coordinators or nodes that have the parameters of served models at /v1/blobs. */
  BLOB_SOURCE_URL: z
    .string()
    .default("")
    .transform((text) =>
      text
        .split(",")
        .map((url) => url.trim().replace(/\/+$/, ""))
        .filter((url) => url !== ""),
    )
    .refine(
      (urls) => urls.every((url) => /^https?:\/\//.test(url) && URL.canParse(url)),
      "must be http or https addresses, separated by commas",
    ),
  /** The token that those addresses require: a coordinator's COORDINATOR_TOKEN. */
  BLOB_SOURCE_TOKEN: z.string().min(1).optional(),
  BLOB_SOURCE_TIMEOUT_MS: countSetting(60_000, { min: 100, max: HOUR_MS }),
};

/** The trainer node's settings. Every limit is here, and `/v1/info` shows them. */
export function readTrainerConfig(environment: Readonly<Record<string, string | undefined>>) {
  const settings = readConfig(
    {
      TRAINER_PORT: portSetting(5000),
      HOST: z.string().default("127.0.0.1"),
      /** The address that this node listens on, if it differs from the edges' HOST. */
      TRAINER_HOST: z.string().optional(),
      /**
       * Who may call a node without a token. "loopback": calls from other machines are refused. "none": any caller that reaches the port.
       */
      TRAINER_AUTH: z.enum(["loopback", "none"]).default("loopback"),
      /** If set, every call must carry it as `x-gw-api-key`, `x-api-key` or `Authorization: Bearer`. */
      TRAINER_TOKEN: z.string().min(16, "must have 16 characters or more").optional(),
      /** If set, training calls must be signed with it. A federation signs them if its participant has the same `secret`. */
      TRAINER_SECRET: z.string().min(16, "must have 16 characters or more").optional(),
      /** A gateway to ask for work with a federation's join token, for a node that cannot be called. */
      TRAINER_JOIN_URL: z.url({ protocol: /^https?$/, error: "must be an http or https address" }).optional(),
      TRAINER_JOIN_TOKEN: z.string().startsWith("join_", "must begin with join_").optional(),
      /** A module that registers functions (trainer-node/sdk.ts), as a path or file:// address. The threads load it. */
      TRAINER_FUNCTIONS: z.string().min(1).optional(),
      /** "off": an operation without a registered function is answered with 501 instead of by the built-in function. */
      TRAINER_BUILTINS: z.enum(["on", "off"], "must be on or off").default("on"),
      /** A JSON file of rows or {x, y}, used when a request names no dataset. */
      DATASET_PATH: z.string().optional(),
      TRAINER_THREADS: countSetting(availableParallelism(), { min: 1, max: 1024 }),
      TRAINER_QUEUE_MAX: countSetting(64, { min: 0, max: 100_000 }),
      TRAINER_BODY_BYTES_MAX: countSetting(512 * MIB, { min: 1024, max: 16 * GIB }),
      /** Most bytes of an /aggregate body, which is processed while it arrives. */
      TRAINER_STREAM_BYTES_MAX: countSetting(16 * GIB, { min: 1024, max: Number.MAX_SAFE_INTEGER }),
      TRAINER_BODY_IDLE_MS: countSetting(60_000, { min: 100, max: HOUR_MS }),
      TRAINER_BYTES_BUDGET: countSetting(1024 * MIB, { min: 1024, max: Number.MAX_SAFE_INTEGER }),
      /**
       * Bytes of clients' tensors that one aggregate keeps in memory, including the client that is being read. The rest is written to
       * TRAINER_TEMP_DIR until the answer is ready. The default is small, so that a hundred large clients need the memory of a few models
       * per thread. With memory for all clients of a round and one more, an aggregate takes about half the time.
       */
      TRAINER_RECORD_BYTES: countSetting(64 * MIB, { min: 0, max: Number.MAX_SAFE_INTEGER }),
      TRAINER_TEMP_DIR: z.string().default(tmpdir()),
      DATA_DIR: z.string().default("./data"),
      TRAINER_BLOB_BYTES_MAX: countSetting(16 * GIB, { min: 0, max: Number.MAX_SAFE_INTEGER }),
      ...servingSettings,
      TRAINER_JOBS_MAX: countSetting(1000, { min: 1, max: 1_000_000 }),
      /** Prefixes, separated by commas, of file:// and https:// addresses that a dataset may name; none by default. */
      TRAINER_DATASET_URIS: z
        .string()
        .default("")
        .transform((text) =>
          text
            .split(",")
            .map((prefix) => prefix.trim())
            .filter((prefix) => prefix !== ""),
        )
        .refine((prefixes) => prefixes.every(isPrefix), "every prefix must begin with file:///, or with https:// and end with a slash"),
      /** A PEM file of certificate authorities to trust for those https addresses, in addition to the system's. */
      TRAINER_DATASET_CA: z.string().min(1).optional(),
      TRAINER_TASK_TIMEOUT_MS: countSetting(HOUR_MS, { min: 1, max: 2 ** 31 - 1 }),
      TRAINER_WORKER_HEAP_MB: countSetting(2048, { min: 64, max: 1_000_000 }),
      LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
    },
    environment,
  );
  checkJoining(settings);
  const host = settings.TRAINER_HOST ?? settings.HOST;
  checkReach({ ...settings, host });
  if (settings.TRAINER_BYTES_BUDGET < settings.TRAINER_BODY_BYTES_MAX) {
    throw new ConfigError([
      "TRAINER_BYTES_BUDGET: must be at least TRAINER_BODY_BYTES_MAX, or a body of the largest allowed size could never be accepted",
    ]);
  }
  return { ...settings, HOST: host };
}

/** TRAINER_AUTH=none opens the node without identifying callers, so a node that other machines can reach needs a token or a secret. */
function checkReach({
  host,
  TRAINER_TOKEN,
  TRAINER_SECRET,
}: {
  host: string;
  TRAINER_TOKEN?: string | undefined;
  TRAINER_SECRET?: string | undefined;
}): void {
  if (isLoopbackHost(host) || TRAINER_TOKEN !== undefined || TRAINER_SECRET !== undefined) return;
  throw new ConfigError([
    `TRAINER_TOKEN or TRAINER_SECRET: one must be set, as ${host} can be reached from other machines; or set TRAINER_HOST=127.0.0.1 to accept calls from this machine only`,
  ]);
}

/** The slash at the end keeps a prefix from matching folders whose names only begin with its last folder. */
function isPrefix(text: string): boolean {
  if (text.startsWith("file:///")) return true;
  const address = URL.parse(text);
  return address?.protocol === "https:" && address.href === text && text.endsWith("/") && address.username === "" && address.search === "";
}

function checkJoining(
  settings: Readonly<Partial<Record<"TRAINER_JOIN_URL" | "TRAINER_JOIN_TOKEN" | "TRAINER_SECRET", string | undefined>>>,
): void {
  if ((settings.TRAINER_JOIN_URL === undefined) !== (settings.TRAINER_JOIN_TOKEN === undefined)) {
    throw new ConfigError(["TRAINER_JOIN_URL, TRAINER_JOIN_TOKEN: set both or neither"]);
  }
  if (settings.TRAINER_JOIN_URL !== undefined && settings.TRAINER_SECRET !== undefined) {
    throw new ConfigError([
      "TRAINER_SECRET: cannot be set together with TRAINER_JOIN_URL: a node that joins calls itself and cannot sign its calls",
    ]);
  }
}
