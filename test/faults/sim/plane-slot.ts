import { ControlCore } from "./control-core.ts";
import type { World } from "./world.ts";

const TERMINATE_MS = 30_000;

/** A place where a control plane runs: its address stays when its process goes. */
export class PlaneSlot {
  readonly name: string;
  readonly address: string;
  core: ControlCore | undefined;
  readonly #world: World;
  #lives = 0;

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
    this.address = `${name}:4100`;
  }

  start(): void {
    if (this.core) return;
    const life = `${this.name}.${++this.#lives}`;
    this.#world.saw(`${life} starts`);
    const core = new ControlCore(this.#world, this, life);
    this.core = core;
    core.start().catch((thrown: unknown) => {
      // Without the store it does not start; its supervisor tries again.
      if (core.process.alive && this.core === core) this.die(core);
      else if (core.process.alive) throw thrown;
    });
  }

  /** A life ends now, in the middle of whatever it does; another one begins later. */
  die(core: ControlCore): void {
    if (!core.process.alive) return;
    const { chance, calm, time } = this.#world;
    core.end();
    this.core = undefined;
    this.#world.saw(`${core.process.name} dies`);
    const awayMs = chance.happens(0.1) ? chance.between(5000, 80_000) : chance.between(50, 2000);
    time.after(calm ? 50 : awayMs, () => this.start());
  }

  /** SIGTERM: hands its slots over, settles what it has taken, and ends. */
  async terminate(): Promise<void> {
    const { core } = this;
    if (!core?.isServing || core.isLeaving) return;
    this.#world.hit("SIGTERM of a control plane");
    this.#world.time.after(TERMINATE_MS, () => this.die(core));
    await core.leave();
    if (!core.process.alive) return;
    this.#world.saw(`${core.process.name} ends in peace`);
    this.die(core);
  }
}
