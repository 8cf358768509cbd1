import { pathToFileURL } from "node:url";

/** Settings of `run()`. Settings that are omitted come from the environment, then from the defaults. */
export interface RunOptions {
  /** The module that the threads load; the program itself if absent. */
  readonly functions?: string | URL;
  readonly host?: string;
  /** 0 selects a free port. */
  readonly port?: number;
  readonly token?: string;
  readonly auth?: "loopback" | "none";
  readonly threads?: number;
  readonly queueMax?: number;
  readonly taskTimeoutMs?: number;
  /** "off": operations without a registered function are answered with 501. */
  readonly builtins?: "on" | "off";
  /** The train function adds the proximal term of `config.mu` to its loss, as the strategy fedprox needs. */
  readonly proximal?: boolean;
  readonly datasetPath?: string;
}

const VARIABLES: Readonly<Record<Exclude<keyof RunOptions, "functions">, string>> = {
  host: "HOST",
  port: "TRAINER_PORT",
  token: "TRAINER_TOKEN",
  auth: "TRAINER_AUTH",
  threads: "TRAINER_THREADS",
  queueMax: "TRAINER_QUEUE_MAX",
  taskTimeoutMs: "TRAINER_TASK_TIMEOUT_MS",
  builtins: "TRAINER_BUILTINS",
  proximal: "TRAINER_PROXIMAL",
  datasetPath: "DATASET_PATH",
};

type Environment = Readonly<Record<string, string | undefined>>;

/** The options as the node's settings, over those of the environment. */
export function environmentOf(options: RunOptions, given: { environment: Environment; program: string | undefined }): Environment {
  const { functions = given.program && pathToFileURL(given.program), ...rest } = options;
  const set = Object.entries(rest).filter(([, value]) => value !== undefined);
  return {
    ...given.environment,
    ...(functions && { TRAINER_FUNCTIONS: String(functions) }),
    ...Object.fromEntries(set.map(([name, value]) => [VARIABLES[name as keyof typeof VARIABLES], String(value)])),
  };
}
