import { COORDINATOR_ENV, HARDENING_FLAGS, SERVICE_NODE_FLAGS, TRAINER_NODE_FLAGS } from "../../common/node-flags.ts";

type Role = "control-plane" | "edge" | "trainer" | "coordinator";

interface Program {
  /** Path in the repository. */
  readonly entry: string;
  readonly nodeFlags: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Processes of the platform, by the name of their role. */
export const PROGRAMS: Readonly<Record<Role, Program>> = {
  "control-plane": { entry: "control-plane/main.ts", nodeFlags: SERVICE_NODE_FLAGS },
  edge: { entry: "gateway-edge/main.ts", nodeFlags: SERVICE_NODE_FLAGS },
  trainer: { entry: "trainer-node/main.ts", nodeFlags: TRAINER_NODE_FLAGS },
  coordinator: { entry: "trainer-node/coordinator/main.ts", nodeFlags: HARDENING_FLAGS, env: COORDINATOR_ENV },
};
