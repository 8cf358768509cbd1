import type { z } from "zod";
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

export const SETTING_NAMES: ReadonlySet<string> = new Set(Object.values(PROCESSES).flatMap((shape) => Object.keys(shape)));
