import { spawn } from "node:child_process";
import { once } from "node:events";
import { killChild } from "./kill-child.ts";

test("a child that could not be started is not signaled", async () => {
  const child = spawn("/no/such/program", { stdio: "ignore" });
  const failed = once(child, "error");
  let signaled = 0;
  const kill = () => ++signaled > 0;
  killChild({ pid: child.pid, kill });
  expect(signaled).toBe(0);
  await failed;
});

test("a running child is ended at once", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  await once(child, "spawn");
  killChild(child);
  expect((await once(child, "exit"))[1]).toBe("SIGKILL");
});
