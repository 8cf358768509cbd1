import type { ChildProcess } from "node:child_process";

/**
 * Ends a child process at once. A child that could not be started has no id, and Node then signals whatever id its memory happens to hold: 0
 * is every process of this one's group.
 */
export function killChild(child: Pick<ChildProcess, "pid" | "kill">): void {
  if (child.pid !== undefined) child.kill("SIGKILL");
}
