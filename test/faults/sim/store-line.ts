import { AppError } from "../../../common/errors.ts";
import type { OwnershipRows } from "../../../control-plane/stores/ownership-rows.ts";
import type { Reader } from "../../../control-plane/stores/store.ts";
import { STORE } from "./links.ts";
import type { SimProcess } from "./sim-process.ts";
import { LIGHT } from "./sim-time.ts";
import type { World } from "./world.ts";

/** How long a control plane waits for the store. */
const ANSWER_MS = 2_500;

/** The way from one control plane to the store that it shares with others. */
export class StoreLine {
  readonly #world: World;
  readonly #process: SimProcess;
  readonly #name: string;

  constructor(world: World, process: SimProcess, name: string) {
    this.#world = world;
    this.#process = process;
    this.#name = name;
  }

  get isRequestCut(): boolean {
    return this.#world.links.isCut(this.#name, STORE);
  }

  get isAnswerCut(): boolean {
    return this.#world.links.isCut(STORE, this.#name);
  }

  async noAnswer(): Promise<never> {
    await this.#process.clock.sleep(ANSWER_MS);
    throw new AppError("DB_TIMEOUT", "The store did not answer in time.");
  }

  /** Reads fail while the link is cut. Else they take no time: what is read is as new as it can be. */
  reader(base: Reader): Reader {
    const reach = async () => {
      if (this.isRequestCut || this.isAnswerCut) await this.noAnswer();
    };
    return {
      get: (collection, id) => reach().then(() => base.get(collection, id)),
      getMany: (collection, ids) => reach().then(() => base.getMany(collection, ids)),
      find: (collection, index, values) => reach().then(() => base.find(collection, index, values)),
      listMany: (collection, index, values) => reach().then(() => base.listMany(collection, index, values)),
      count: (collection, range) => reach().then(() => base.count(collection, range)),
      async *scan(collection, range) {
        await reach();
        yield* base.scan(collection, range);
      },
    };
  }

  /** Rows of ownership: each request and each answer takes a moment, in which its control plane may be stopped or die. */
  rows({ beat, remove, planes, slots, take, giveUp }: OwnershipRows): OwnershipRows {
    const sent =
      <Given extends unknown[], Answer>(operation: (...given: Given) => Promise<Answer>) =>
      (...given: Given) =>
        this.#send(() => operation(...given));
    return { beat: sent(beat), remove: sent(remove), planes: sent(planes), slots: sent(slots), take: sent(take), giveUp: sent(giveUp) };
  }

  async #send<Answer>(operation: () => Promise<Answer>): Promise<Answer> {
    if (this.isRequestCut) return this.noAnswer();
    const { time } = this.#world;
    // What was sent arrives, also when its sender is stopped or dead by then.
    const answered = new Promise<Answer>((resolve) => void time.after(this.#delayMs(), () => void operation().then(resolve), LIGHT));
    const answer = await answered;
    if (this.isAnswerCut) return this.noAnswer();
    return new Promise((resolve) => this.#process.enter(() => resolve(answer)));
  }

  #delayMs(): number {
    const { calm, chance, plan } = this.#world;
    return !calm && chance.happens(plan.storeSlow) ? chance.between(200, 3000) : chance.between(2, 20) / 10;
  }
}
