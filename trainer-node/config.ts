import { availableParallelism, tmpdir } from "node:os";
import { z } from "zod";
import {
  ConfigError,
  countSetting,
  dataDirSetting,
  drainSettings,
  type Environment,
  flagSetting,
  listSetting,
  logLevelSetting,
  portSetting,
  readConfig,
  type Settings,
} from "../common/config.ts";
import { isLoopbackHost } from "../common/exposed.ts";
import { metricsSettings } from "../common/metrics/metrics-settings.ts";
import { readTls, type Tls, tlsSettings } from "../common/peers/tls.ts";
import { secretSetting } from "../common/secret-files.ts";
import { blobsBytesMax, blobsLimitSettings } from "../common/storage-limits.ts";
import { PROPERTIES_LENGTH_MAX, readProperties } from "../common/training/selection-settings.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const HOUR_MS = 3_600_000;

const servingSettings = {
  TRAINER_SERVE_THREADS: countSetting(Math.max(1, Math.floor(availableParallelism() / 2)), { min: 1, max: 1024 }).meta({
    description: "Threads that run served models. They start with the first call to a served model.",
    shownDefault: "half the cores",
  }),
  TRAINER_SERVE_QUEUE_MAX: countSetting(1000, { min: 0, max: 100_000 }).describe("Calls to served models that wait for a thread."),
  TRAINER_MODEL_BYTES: countSetting(512 * MIB, { min: 0, max: Number.MAX_SAFE_INTEGER }).describe(
    "Memory for served models over all threads. The models that were used last stay in it.",
  ),
  BLOB_SOURCE_URL: listSetting()
    .transform((urls) => urls.map((url) => url.replace(/(?<!\/)\/+$/, "")).filter((url) => url !== ""))
    .refine(
      (urls) => urls.every((url) => /^https?:\/\//.test(url) && URL.canParse(url)),
      "must be http or https addresses, separated by commas",
    )
    .describe(
      "Coordinators or nodes from which this node pulls parameters of served models that it does not have, separated by commas. `make run` sets it.",
    ),
  BLOB_SOURCE_TOKEN: secretSetting(
    z
      .string()
      .min(1)
      .optional()
      .describe("What this node presents to `BLOB_SOURCE_URL`: a coordinator's `COORDINATOR_TOKEN`. `make run` sets it."),
  ),
  BLOB_SOURCE_TIMEOUT_MS: countSetting(60_000, { min: 100, max: HOUR_MS }).describe("How long pulling one set of parameters may take."),
};

/** The settings of a trainer node; docs/settings.md is printed from them. Every limit is here, and `/v1/info` shows them. */
export const trainerSettings = {
  ...drainSettings,
  TRAINER_PORT: portSetting(5000).describe("Port of the participant API."),
  ...blobsLimitSettings,
  ...tlsSettings,
  ...metricsSettings,
  TRAINER_HOST: z.string().optional().meta({
    description:
      "Address that the trainer node listens on. Beyond loopback it starts only with `TRAINER_TOKEN`, `TRAINER_SECRET` or `TLS_CERT`; without a token or secret `make run` leaves it on 127.0.0.1.",
    shownDefault: "`HOST`",
  }),
  TRAINER_AUTH: z
    .enum(["loopback", "none"])
    .default("loopback")
    .describe(
      "Who may call a node without `TRAINER_TOKEN`. `loopback`: this machine only. `none`: other machines too, which then need `TRAINER_SECRET`.",
    ),
  TRAINER_HOST_NAMES: listSetting().describe(
    "Names beside 127.0.0.1 and localhost under which a node without `TRAINER_TOKEN` and `TRAINER_SECRET` may be called (the `Host` header), separated by commas. A name that anybody can let resolve to this machine is refused.",
  ),
  TRAINER_TOKEN: secretSetting(
    z.string().min(16, "must have 16 characters or more").optional().meta({
      description:
        "Secret that every call of the participant API has to carry, as `Authorization: Bearer`, `x-api-key` or `x-gw-api-key`; 16 or more characters. The gateway sends it too.",
      shownDefault: "unset; made by `make run` at every start, unless `TRAINER_SECRET` is set",
    }),
  ),
  TRAINER_ANONYMOUS: flagSetting(false).meta({
    description:
      "Whether callers of this machine may use a node with `TRAINER_TOKEN` without the token. They are one tenant of their own, which sees no jobs, blobs and rounds of organizations; `x-gw-tenant` counts only with the token. Not together with `TRAINER_SECRET`.",
    shownDefault: "false; true for the node of `make run` when it made the token and is not exposed",
  }),
  TRAINER_SECRET: secretSetting(
    z
      .string()
      .min(16, "must have 16 characters or more")
      .optional()
      .describe(
        "Secret that every call but `/health` and `/ready` has to be signed with (HMAC over method, path, time, nonce, headers and body): the `secret` of the node at `/training/nodes`, or of the participant in its federation. Where `TRAINER_TOKEN` is set, too, only training calls need both; other calls need the token.",
      ),
  ),
  TRAINER_JOIN_URL: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .optional()
    .describe("Gateway that this node asks for work, for a node that cannot be called from outside."),
  TRAINER_JOIN_TOKEN: secretSetting(
    z
      .string()
      .startsWith("join_", "must begin with join_")
      .optional()
      .describe("Join token of this node's place in a federation, or the join link of an open one, for `TRAINER_JOIN_URL`."),
  ),
  TRAINER_PROPERTIES: z
    .string()
    .default("{}")
    .refine((text) => isProperties(text), `must be a JSON object of at most ${PROPERTIES_LENGTH_MAX} characters`)
    .transform((text) => readProperties(text))
    .meta({
      description:
        'What this node says about itself, as a JSON object such as `{"region": "eu"}`: `selection.properties` of a federation asks for it. Shown in `/v1/info`.',
      shownDefault: "none",
    }),
  TRAINER_FUNCTIONS: z
    .string()
    .min(1)
    .optional()
    .describe("Module that registers functions (`trainer-node/sdk.ts`), as a path or `file://` address; the threads load it."),
  TRAINER_BUILTINS: z
    .enum(["on", "off"], "must be on or off")
    .default("on")
    .describe("`off`: an operation without a registered function is answered with 501 instead of by the built-in function."),
  TRAINER_PROXIMAL: flagSetting(false).meta({
    description:
      "The registered train function adds the proximal term of `config.mu` to its loss, as the strategy `fedprox` needs. `/v1/info` declares it.",
  }),
  TRAINER_EXCEPTIONS: z
    .enum(["owner", "all"], "must be owner or all")
    .default("owner")
    .describe(
      "Who gets the message of an exception of a registered function: `owner` is a caller on the node's machine that calls for no organization; others, such as coordinators, get its type. `all`: every caller.",
    ),
  DATASET_PATH: z.string().optional().describe("JSON file of rows or `{x, y}`, used when a request names no dataset."),
  TRAINER_THREADS: countSetting(availableParallelism(), { min: 1, max: 1024 }).meta({
    description: "Threads that train, evaluate and aggregate.",
    shownDefault: "one per core",
  }),
  TRAINER_QUEUE_MAX: countSetting(64, { min: 0, max: 100_000 }).describe("Calls that wait for a thread; further ones are refused."),
  TRAINER_BODY_BYTES_MAX: countSetting(512 * MIB, { min: 1024, max: 16 * GIB }).describe("Largest body of a training call."),
  TRAINER_STREAM_BYTES_MAX: countSetting(16 * GIB, { min: 1024, max: Number.MAX_SAFE_INTEGER }).describe(
    "Largest body of `/aggregate`, which is processed while it arrives.",
  ),
  TRAINER_BODY_IDLE_MS: countSetting(60_000, { min: 100, max: HOUR_MS }).describe(
    "How long a body may stop arriving before its call is ended.",
  ),
  TRAINER_BYTES_BUDGET: countSetting(1024 * MIB, { min: 1024, max: Number.MAX_SAFE_INTEGER }).describe(
    "Bytes of all bodies in memory at the same time; at least `TRAINER_BODY_BYTES_MAX`.",
  ),
  // The default is small, so that a hundred large clients need the memory of a few models per thread.
  TRAINER_RECORD_BYTES: countSetting(64 * MIB, { min: 0, max: Number.MAX_SAFE_INTEGER }).describe(
    "Bytes of clients' tensors that one aggregation keeps in memory, including the client that is being read; the rest is written to disk. With memory for all clients of a round and one more, it takes about half the time.",
  ),
  TRAINER_TEMP_DIR: z.string().default(tmpdir()).meta({
    description: "Folder for tensors that `TRAINER_RECORD_BYTES` has no room for.",
    shownDefault: "the system's temporary folder",
  }),
  DATA_DIR: dataDirSetting,
  TRAINER_BLOB_BYTES_MAX: countSetting(16 * GIB, { min: 0, max: Number.MAX_SAFE_INTEGER }).describe("Bytes of all blobs of this node."),
  ...servingSettings,
  TRAINER_JOBS_MAX: countSetting(1000, { min: 1, max: 1_000_000 }).describe(
    "Jobs (`Prefer: respond-async`) that are remembered at the same time.",
  ),
  TRAINER_DATASET_URIS: listSetting()
    .refine((prefixes) => prefixes.every(isPrefix), "every prefix must begin with file:///, or with https:// and end with a slash")
    .describe("Prefixes that datasets may come from, such as `file:///data/` or `https://host/folder/`, separated by commas."),
  TRAINER_DATASET_CA: z
    .string()
    .min(1)
    .optional()
    .describe("PEM file of certificate authorities to trust for datasets at https addresses, in addition to the system's."),
  TRAINER_TASK_TIMEOUT_MS: countSetting(HOUR_MS, { min: 1, max: 2 ** 31 - 1 }).describe("How long one call may run on its thread."),
  TRAINER_WORKER_HEAP_MB: countSetting(2048, { min: 64, max: 1_000_000 }).describe("JavaScript heap of each thread."),
  LOG_LEVEL: logLevelSetting,
};

type ReadSettings = Settings<typeof trainerSettings>;

/** The validated settings of a trainer node. */
export type TrainerConfig = ReturnType<typeof readTrainerConfig>;

export function readTrainerConfig(environment: Environment) {
  const settings = readConfig(trainerSettings, environment);
  checkJoining(settings);
  const host = settings.trainerHost ?? settings.host;
  const config = { ...settings, host, tls: readTls(settings), blobsBytesMaxPerOrganization: blobsBytesMax({ ...settings, host }) };
  checkReach(config);
  checkAnonymous(config);
  checkTls(config);
  if (settings.trainerBytesBudget < settings.trainerBodyBytesMax) {
    throw new ConfigError([
      "TRAINER_BYTES_BUDGET: must be at least TRAINER_BODY_BYTES_MAX, or a body of the largest allowed size could never be accepted",
    ]);
  }
  return config;
}

/** TRAINER_AUTH=none opens the node without identifying callers, so a node that other machines can reach needs something that does. */
function checkReach({ host, trainerToken, trainerSecret, trainerAuth, tls }: ReadSettings & { tls: Tls | undefined }): void {
  const identifies = trainerToken !== undefined || trainerSecret !== undefined || (tls !== undefined && trainerAuth !== "none");
  if (isLoopbackHost(host) || identifies) return;
  throw new ConfigError([
    `TRAINER_TOKEN or TRAINER_SECRET: one must be set, or TLS_CERT, TLS_KEY and TLS_CA with TRAINER_AUTH=loopback, as ${host} can be reached from other machines; or set TRAINER_HOST=127.0.0.1 to accept calls from this machine only`,
  ]);
}

/** An anonymous caller cannot sign, and the secret would refuse all its calls. */
function checkAnonymous({ trainerAnonymous, trainerSecret }: ReadSettings): void {
  if (!trainerAnonymous || trainerSecret === undefined) return;
  throw new ConfigError(["TRAINER_ANONYMOUS: cannot be true together with TRAINER_SECRET, which every caller needs; unset one of them"]);
}

const isProperties = (text: string): boolean => text === "{}" || Object.keys(readProperties(text)).length > 0;

/** The slash at the end keeps a prefix from matching folders whose names only begin with its last folder. */
function isPrefix(text: string): boolean {
  if (text.startsWith("file:///")) return true;
  const address = URL.parse(text);
  return address?.protocol === "https:" && address.href === text && text.endsWith("/") && address.username === "" && address.search === "";
}

function checkTls({ tls, trainerJoinUrl }: ReadSettings & { tls: Tls | undefined }): void {
  if (tls === undefined || trainerJoinUrl === undefined) return;
  throw new ConfigError([
    "TLS_CERT: cannot be set together with TRAINER_JOIN_URL: a node that joins is called by nobody but itself, on 127.0.0.1",
  ]);
}

function checkJoining({ trainerJoinUrl, trainerJoinToken, trainerSecret }: ReadSettings): void {
  if ((trainerJoinUrl === undefined) !== (trainerJoinToken === undefined)) {
    throw new ConfigError(["TRAINER_JOIN_URL, TRAINER_JOIN_TOKEN: set both or neither"]);
  }
  if (trainerJoinUrl !== undefined && trainerSecret !== undefined) {
    throw new ConfigError([
      "TRAINER_SECRET: cannot be set together with TRAINER_JOIN_URL: a node that joins calls itself and cannot sign its calls",
    ]);
  }
}
