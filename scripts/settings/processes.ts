import type { z } from "zod";
import { fileVariable, isSecret } from "../../common/secret-files.ts";
import { controlSettings } from "../../control-plane/config.ts";
import { edgeSettings } from "../../gateway-edge/config.ts";
import { trainerSettings } from "../../trainer-node/config.ts";
import { coordinatorSettings } from "../../trainer-node/coordinator/config.ts";
import { runSettings } from "../supervisor/settings.ts";

/** Every process with settings, by the name that docs/settings.md has for it. */
export const PROCESSES: Readonly<Record<string, z.ZodRawShape>> = {
  edge: edgeSettings,
  "control plane": controlSettings,
  "trainer node": trainerSettings,
  coordinator: coordinatorSettings,
  "`make run`": runSettings,
};

/** Names that documents may use: the settings, and the variables that name files of secrets. */
export const documentedNames = (): ReadonlySet<string> =>
  new Set(
    Object.values(PROCESSES)
      .flatMap((shape) => Object.entries(shape))
      .flatMap(([name, schema]) => (isSecret(schema as z.ZodType) ? [name, fileVariable(name)] : [name])),
  );

export const SETTING_NAMES: ReadonlySet<string> = new Set(Object.values(PROCESSES).flatMap((shape) => Object.keys(shape)));
