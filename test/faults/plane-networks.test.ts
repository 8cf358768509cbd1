import { execFile } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { promisify } from "node:util";
import { hasNetworks, openPlaneNetworks, type PlaneNetworks } from "../helpers/plane-networks.ts";

const run = promisify(execFile);
/** Prints `yes` if it can connect within half a second. */
const CONNECT = `const s = require("net").connect(+process.argv[2], process.argv[1]);
s.on("connect", () => { console.log("yes"); process.exit(); });
setTimeout(() => { console.log("no"); process.exit(); }, 500);`;

if (hasNetworks()) withNetworks();
else test("partitions of real networks are not tested here: this user may not make network namespaces", () => undefined);

function withNetworks(): void {
  let networks: PlaneNetworks;
  let store: Server;
  beforeAll(async () => {
    networks = openPlaneNetworks(2);
    store = createServer((socket) => socket.destroy()).listen(0, networks.storeHost);
    await once(store, "listening");
  });
  afterAll(() => {
    store.close();
    networks.close();
  });

  const canReach = async (plane: number, host = networks.storeHost) => {
    const [command = "", ...words] = networks.launcherOf(plane);
    const { port } = store.address() as AddressInfo;
    const { stdout } = await run(command, [...words, process.execPath, "-e", CONNECT, host, String(port)]);
    return stdout.trim() === "yes";
  };

  test("a plane that is cut off from the store cannot reach it, the other one can, and after healing both can", async () => {
    expect(await Promise.all([canReach(0), canReach(1)])).toEqual([true, true]);
    networks.cut(0, "store");
    expect(await Promise.all([canReach(0), canReach(1)])).toEqual([false, true]);
    networks.heal(0);
    expect(await canReach(0)).toBe(true);
  });

  test("a plane that hears nothing reaches nothing, and one that is cut off from the edges still reaches the store", async () => {
    networks.silence(0);
    networks.cut(1, "edges");
    expect(await Promise.all([canReach(0), canReach(1)])).toEqual([false, true]);
    networks.heal(0);
    networks.heal(1);
    expect(await Promise.all([canReach(0), canReach(1)])).toEqual([true, true]);
  });
}
