import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { buildImageTree } from "../../scripts/package/build-image-tree.ts";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream/server.ts";
import { freePort } from "../helpers/processes.ts";
import { untilReady } from "./first-call.ts";

const root = resolve(__dirname, "../..");
const MASTER_KEY = "sk-master-key-of-the-image";

/**
 * Puts the tree on the system of this machine as the image puts it on its base, with a root that cannot be written to, and starts a program
 * there as user 10001 without capabilities. The outer namespace mounts; the inner one has the user.
 */
const INSIDE = `
set -e
mount -t tmpfs tmpfs "$ROOT"
cd "$ROOT"
mkdir -p usr opt node etc/tributary var/lib/tributary tmp proc dev
ln -s usr/lib lib; ln -s usr/bin bin; [ -e /lib64 ] && ln -s usr/lib64 lib64
for pair in /usr:usr "$TREE/opt:opt" "$NODE:node" "$SECRETS:etc/tributary"; do
  mount --rbind "\${pair%%:*}" "$ROOT/\${pair##*:}"
  mount -o remount,bind,ro "$ROOT/\${pair##*:}"
done
mount --rbind /proc proc; mount --rbind /dev dev
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=700 tmpfs var/lib/tributary
mount -o remount,ro "$ROOT"
exec unshare --user --map-user=10001 --map-group=10001 --root="$ROOT" --wd=/var/lib/tributary -- "$@"
`;

function canIsolate(): boolean {
  try {
    execFileSync("unshare", ["-rm", "unshare", "--user", "--map-user=10001", "--map-group=10001", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

let folder: string;
let upstream: FakeUpstream;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-image-"));
  upstream = await startFakeUpstream();
});
afterAll(async () => {
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
});

function secretsFolder(): string {
  const secrets = join(folder, "secrets");
  mkdirSync(secrets);
  const config = `model_list:\n  - model_name: scripted\n    litellm_params: {model: openai/pong, api_base: "${upstream.url}/openai/v1"}\n`;
  const files = {
    "secret-key": "x".repeat(40),
    "master-key": MASTER_KEY,
    "admin-password": "password of the image",
    "openai-key": "sk-up",
  };
  for (const [name, text] of Object.entries({ ...files, "config.yaml": config })) writeFileSync(join(secrets, name), `${text}\n`);
  return secrets;
}

function startImage(environment: Record<string, string>, words: readonly string[]): ChildProcess {
  const mounted = join(folder, "root");
  mkdirSync(mounted, { recursive: true });
  const mounts = { ROOT: mounted, TREE: join(folder, "tree"), NODE: dirname(process.execPath), SECRETS: join(folder, "secrets") };
  const program = ["env", "-i", "PATH=/node:/usr/bin", "NODE_ENV=production", "DATA_DIR=/var/lib/tributary"];
  const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return spawn("unshare", ["-rm", "sh", "-c", INSIDE, "sh", ...program, ...settings, ...words], {
    env: { PATH: process.env["PATH"], ...mounts },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

if (canIsolate()) {
  test("the image's tree starts with a read-only root as user 10001 and answers a call with the answer of its upstream", async () => {
    const libraries = buildImageTree(root, join(folder, "tree"));
    expect(libraries).toBeGreaterThan(50);
    secretsFolder();
    const [port, control, trainer, coordinator] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const child = startImage(
      {
        PORT: String(port),
        CONTROL_PORT: String(control),
        TRAINER_PORT: String(trainer),
        COORDINATOR_PORT: String(coordinator),
        EDGES: "1",
        CONFIG: "/etc/tributary/config.yaml",
        SECRET_KEY_FILE: "/etc/tributary/secret-key",
        MASTER_KEY_FILE: "/etc/tributary/master-key",
        ADMIN_PASSWORD_FILE: "/etc/tributary/admin-password",
        OPENAI_API_KEY_FILE: "/etc/tributary/openai-key",
        ALLOW_UNPRICED_MODELS: "true",
        ALLOW_PRIVATE_UPSTREAMS: "true",
      },
      ["/opt/tributary/scripts/tributary.js"],
    );
    const ended = once(child, "exit");
    try {
      await untilReady(`http://127.0.0.1:${port}`, child);
      const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${MASTER_KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "scripted", messages: [{ role: "user", content: "hello" }] }),
      });
      expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 });
      expect(upstream.requests.at(-1)?.headers["authorization"]).toBe("Bearer sk-up");
    } finally {
      child.kill("SIGTERM");
      await ended;
    }
  });

  test("what the image starts is not root and can write neither to its root nor to its package", async () => {
    const script =
      "id -u; for f in / /opt/tributary /usr /etc/tributary; do touch $f/x 2>/dev/null && echo wrote $f; done; touch /tmp/x /var/lib/tributary/x && echo data";
    const child = startImage({}, ["sh", "-c", script]);
    let written = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      written += text;
    });
    await once(child, "close");
    expect(written).toBe("10001\ndata\n");
  });
} else {
  test("without user namespaces there is a loud line, and a failure where CI is set", () => {
    const message =
      "NO ISOLATION: the image's tree is not started, as this machine gives no process a file system of its own (unshare -rm).";
    process.stderr.write(`${message}\n`);
    if (process.env["CI"]) throw new Error(message);
    expect(message).toContain("NO ISOLATION");
  });
}
