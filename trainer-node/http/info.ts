import { type RequestHandler, Router } from "express";
import { describeSetting, settingsOf } from "../../common/strategies/shared/settings.ts";
import type { Capability } from "../../common/training/capabilities.ts";
import { FORMATS } from "../codec/parameters.ts";
import { AGGREGATORS } from "../compute/aggregators/gen/aggregators.ts";
import { DATASET_LIMITS } from "../compute/datasets/dataset.ts";
import { DIGITS, SPLITS } from "../compute/datasets/digits.ts";
import { GENERATED } from "../compute/datasets/generated.ts";
import { SCHEMES } from "../compute/datasets/partition.ts";
import { SYNTHETIC } from "../compute/datasets/synthetic.ts";
import { createKernels } from "../compute/kernels/create-kernels.ts";
import { TASKS } from "../compute/tasks/registry.ts";
import { MODEL_ELEMENTS_MAX } from "../compute/tasks/softmax-model.ts";
import { DTYPES, TENSOR_LIMITS } from "../compute/tensor.ts";
import type { TrainerDeps } from "../deps.ts";
import { CLIENTS_MAX, JSON_DEPTH_MAX } from "../operations/call-limits.ts";
import { OPERATION_NAMES } from "../pool/messages.ts";
import { CONTENT_TYPES } from "./body-types.ts";
import { onlyMethods } from "./methods.ts";

/** `/health`: the node is alive. */
export function healthRoutes(): Router {
  const router = Router();
  get(router, "/health", (_request, response) => {
    response.json({ status: "ok" });
  });
  return router;
}

/** `/ready`: the node is able to take work. */
export function readyRoutes({ state }: TrainerDeps): Router {
  const router = Router();
  get(router, "/ready", (_request, response) => {
    const now = state();
    response.status(now === "ready" ? 200 : 503).json({ status: now });
  });
  return router;
}

/** `/v1/info` (what the node can do) and `/metrics`. */
export function infoRoutes({ metrics, settings, registered }: TrainerDeps): Router {
  const router = Router();
  get(router, "/v1/info", (_request, response) => {
    response.json(describeNode(settings, registered()));
  });
  get(router, "/metrics", async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.text());
  });
  return router;
}

function get(router: Router, path: string, handler: RequestHandler): void {
  router.get(path, handler);
  router.all(path, onlyMethods("GET", "HEAD"));
}

const TRAIN_SETTINGS = {
  epochs: "1..1000, default 1",
  batch_size: "1..100000, default 10",
  lr: "above 0, to 100, default 0.1",
  seed: "whole number from 0",
  optimizer: "sgd (default), momentum, adam; softmax has sgd only",
  momentum: "0 to below 1, default 0.9",
  mu: "weight of FedProx's proximal term, default 0",
  clip_norm: "greatest length of the update; 0 or absent is none",
  noise_multiplier: "standard deviation of Gaussian noise on every number of the update, in units of clip_norm; default 0",
  scaffold: "true: the client's side of SCAFFOLD; its control variate goes out as state and comes back as state; default false",
  compress: "float16, int8, or {method: top_k, share}: the update as the compressed change from the parameters; absent is none",
  untrained: "true: the answer is a new model for the data, which is not trained; only without parameters; default false",
  loss_before: "true: metrics.loss_before is the loss of the parameters on the data before the training; default false",
};

/**
 * Capabilities that a coordinator relies on: the node clips and noises updates as the config says, can mask them, takes the steps that
 * epochs and batch_size define, and trains with control variates. It clips the updates of registered functions, too, but the rest is up to
 * the function: `proximal` is what its owner says of it.
 */
export function capabilitiesOf({
  builtins,
  registered,
  proximal = false,
}: {
  builtins: boolean;
  registered: readonly string[];
  proximal?: boolean | undefined;
}): Readonly<Record<Exclude<Capability, "formats">, boolean> & { formats: readonly string[] }> {
  const isOwn = registered.includes("train");
  const canTrain = builtins || isOwn;
  const isBuiltIn = canTrain && !isOwn;
  return {
    ...{ clip: canTrain, noise: canTrain, mask: canTrain, compress: canTrain },
    initial: isBuiltIn || (isOwn && registered.includes("initial")),
    serve: registered.includes("serve"),
    ...{ steps: isBuiltIn, controls: isBuiltIn, loss_before: isBuiltIn },
    proximal: isBuiltIn || (isOwn && proximal),
    formats: FORMATS,
  };
}

function describeNode(settings: TrainerDeps["settings"], registered: readonly string[]): object {
  const { builtins = true, proximal } = settings;
  return {
    version: settings.version,
    kernel: createKernels(0).name,
    operations: builtins
      ? OPERATION_NAMES.filter((name) => name !== "serve" || registered.includes(name))
      : [...registered.filter((name) => name !== "initial"), "call"],
    registered,
    builtins,
    formats: FORMATS,
    capabilities: capabilitiesOf({ builtins, registered, proximal }),
    properties: settings.properties ?? {},
    body_types: Object.values(CONTENT_TYPES),
    body_encodings: ["identity", "gzip"],
    dtypes: DTYPES,
    tasks: TASKS.map(({ name, about, rows, options, parameters, accuracy }) => ({
      name,
      about,
      rows,
      accuracy,
      settings: { ...TRAIN_SETTINGS, ...options },
      parameters,
    })),
    strategies: AGGREGATORS.map(({ name, description: about, settings: table, base, usesWeights, slots }) => ({
      name,
      about,
      settings: Object.fromEntries(
        Object.entries(settingsOf(table, "aggregate")).map(([setting, spec]) => [setting, describeSetting(spec)]),
      ),
      base,
      uses: [...(usesWeights ? ["weights"] : []), ...(base === "unused" ? [] : ["base"]), ...(slots ? ["state"] : [])],
      floats: "accumulated in float64, in an order that depends on the clients' numbers alone",
      integers: "maximum",
    })),
    datasets: [
      {
        name: "digits",
        rows: DIGITS.rows,
        columns: DIGITS.columns,
        classes: DIGITS.classes,
        splits: { train: DIGITS.trainRows, test: DIGITS.testRows, all: DIGITS.rows },
        default_split: { train: "train", evaluate: "test" },
        options: {
          split: SPLITS,
          classes: "list of the labels to keep",
          partition: { schemes: SCHEMES, fields: ["index", "of", "seed", "alpha"] },
        },
        source: "UCI Optical Recognition of Handwritten Digits, CC BY 4.0",
      },
      ...Object.entries(GENERATED).map(([name, { about }]) => ({ name, about, splits: ["train", "test", "all"], generated: true })),
    ],
    synthetic: { columns: SYNTHETIC.columns, classes: SYNTHETIC.classes, fields: ["alpha", "beta", "device", "of", "seed", "iid"] },
    /** The steps of a secure sum, as routes below /v1/secure/{round}/{client}/. */
    secure_aggregation: ["train", "shares", "masked", "help"],
    default_dataset: settings.hasDefaultDataset,
    limits: {
      body_bytes: settings.bodyBytesMax,
      aggregate_body_bytes: settings.streamBytesMax ?? settings.bodyBytesMax,
      held_bytes: settings.bytesBudget,
      queue: settings.queueMax,
      threads: settings.threads,
      task_timeout_ms: settings.taskTimeoutMs,
      json_depth: JSON_DEPTH_MAX,
      clients: CLIENTS_MAX,
      tensors: TENSOR_LIMITS.tensorsMax,
      tensor_elements: TENSOR_LIMITS.elementsMax,
      tensor_name_bytes: TENSOR_LIMITS.nameBytesMax,
      model_weights: MODEL_ELEMENTS_MAX,
      dataset_rows: DATASET_LIMITS.rowsMax,
      dataset_columns: DATASET_LIMITS.columnsMax,
      dataset_classes: DATASET_LIMITS.classesMax,
    },
  };
}
