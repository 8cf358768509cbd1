import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeParameters } from "../../trainer-node/codec/parameters.ts";
import type { System } from "../helpers/system.ts";
import type { Session } from "./session.ts";

const DATASET = JSON.stringify({ name: "digits", partition: { scheme: "iid", of: 2 } });
const CONFIG = JSON.stringify({ epochs: 1, lr: 0.3, batch_size: 20 });
const ROUNDS = 3;

/** Training with a real coordinator and a real node. cli/commands/train/train.test.ts checks the request of each command. */
export function trainTests(world: () => { session: Session; system: System }): void {
  test("train: a federation runs while it is followed, its history is right, and what came out is a model", async () => {
    const { session, system } = world();
    const { gw, json } = session;
    const sizes = `--rounds ${ROUNDS} --participants ${system.trainerUrl},${system.trainerUrl}`;
    const { federation } = await json(`train create --name rivers --task softmax ${sizes} --dataset ${DATASET} --config ${CONFIG}`);
    const followed = await gw(`train rounds ${federation.id} --follow`, { terminal: true });
    expect([followed.exit, followed.out]).toEqual([
      0,
      expect.stringMatching(/rivers {2}completed\nall +█+ {2}3\/3 rounds\naccuracy +\S{3} {2}\d\d\.\d %\n$/),
    ]);
    expect(followed.out.match(/committed {2}2 of 2 updates/g)).toHaveLength(ROUNDS);
    expect(await json(`train verify ${federation.id}`)).toMatchObject({ ok: true, rounds: ROUNDS, firstBad: null });
    const replayed = await json(`train replay ${federation.id} --strategy median`);
    expect(replayed.rounds.map(({ original }: { original: { accuracy: number } }) => original.accuracy)).toHaveLength(ROUNDS);
    const file = join(system.folder, "rivers.safetensors");
    const saved = await json(`train parameters ${federation.id} --out ${file}`);
    expect(saved).toMatchObject({ file, sha256: hash("sha256", readFileSync(file), "hex") });
    expect(
      decodeParameters(readFileSync(file))
        .tensors.map(({ name }) => name)
        .sort(),
    ).toEqual(["bias", "weight"]);
    expect((await json(`train blobs upload ${file}`)).blob).toEqual({ sha256: saved.sha256, bytes: saved.bytes });
    expect(await json(`train blobs download ${saved.sha256} --out ${file}.again`)).toMatchObject({ sha256: saved.sha256 });
    expect((await gw(`train blobs delete ${saved.sha256} --yes`)).exit).toBe(0);
    expect((await gw(`train blobs upload ${file}.nowhere`)).exit).toBe(2);
    const first = await json(`train parameters ${federation.id} --round 1 --format npz --out ${file}`);
    expect(decodeParameters(readFileSync(file)).format).toBe("npz");
    expect(first.sha256).not.toBe(saved.sha256);
    expect((await gw(`train parameters ${federation.id} --round 9 --out ${file}`)).exit).toBe(6);
    expect((await gw(`train parameters ${federation.id}`)).exit).toBe(2);
    expect((await json("train list")).data[0]).toMatchObject({ id: federation.id, state: "completed" });
    expect((await json(`train publish ${federation.id} --model rivers`)).version.version).toBe(1);
    expect((await json(`train versions ${federation.id} --model rivers`)).data).toHaveLength(1);
    expect((await json("train models")).data[0].name).toBe("rivers");
    expect((await json("train nodes")).data[0].url).toBe(system.trainerUrl);
    expect((await gw("train get fed_nope")).exit).toBe(6);
    expect((await gw(`train pause ${federation.id}`)).exit).toBe(7);
  }, 60_000);
}
