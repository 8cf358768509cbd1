import { AppError, asAppError } from "../../../common/errors.ts";
import { LeaseRequest, LeaseResponse, SettleRequest } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { EdgeSlot } from "./edge-slot.ts";
import type { Access, CreditHandlers } from "./mutant.ts";
import type { SimProcess } from "./sim-process.ts";
import type { World } from "./world.ts";

interface Line {
  readonly slot: EdgeSlot;
  readonly process: SimProcess;
  readonly generations: Map<string, bigint>;
}

type Method = keyof CreditHandlers;
type Options = { readonly deadlineMs: number };

/** The control plane as an edge reaches it: over a network that delays, loses, repeats and reorders. Messages travel as bytes. */
export function rpcAccess(world: World, line: Line): Access {
  const send = <Request, Answer>(method: Method, request: Request, { deadlineMs }: Options): Promise<Answer> =>
    new Rpc<Request, Answer>(world, line, { method, request, deadlineMs }).run();
  return {
    lease: async (request, options) => {
      const answer = await send<LeaseRequest, LeaseResponse>(
        "lease",
        LeaseRequest.decode(LeaseRequest.encode(request).finish()),
        options,
      ).catch((error: unknown) => {
        line.slot.hadTrouble = true;
        throw error;
      });
      line.generations.set(request.organizationId, answer.generation);
      return LeaseResponse.decode(LeaseResponse.encode(answer).finish());
    },
    settle: (request, options) => send("settle", SettleRequest.decode(SettleRequest.encode(request).finish()), options),
    reserveMany: (request, options) => send("reserveMany", request, options),
    release: (request, options) => send("release", request, options),
  };
}

/** One question and its answer. */
class Rpc<Request, Answer> {
  readonly #world: World;
  readonly #line: Line;
  readonly #call: { readonly method: Method; readonly request: Request; readonly deadlineMs: number };
  readonly #outcome = Promise.withResolvers<Answer>();
  #cancelDeadline: () => void = () => {};
  #isOver = false;

  constructor(world: World, line: Line, call: { method: Method; request: Request; deadlineMs: number }) {
    this.#world = world;
    this.#line = line;
    this.#call = call;
  }

  run(): Promise<Answer> {
    const { time } = this.#world;
    const { method, deadlineMs } = this.#call;
    this.#line.process.passes(`${method} is sent`);
    this.#cancelDeadline = time.after(deadlineMs, () => this.#fail("DB_TIMEOUT"));
    if (!this.#world.control) {
      time.after(1, () => this.#fail("UNAVAILABLE"));
      return this.#outcome.promise;
    }
    this.#travel(() => this.#arrive());
    if (this.#isHit(this.#world.plan.networkRepeats)) {
      this.#world.hit(`${method} arrives twice`);
      // What the second copy grants the edge hears of only when it asks again.
      this.#line.slot.hadTrouble = true;
      this.#travel(() => this.#arrive());
    }
    return this.#outcome.promise;
  }

  #isHit(probability: number): boolean {
    return !this.#world.calm && this.#world.chance.happens(probability);
  }

  #travel(arrive: () => void): void {
    const { chance, plan, time } = this.#world;
    if (this.#line.slot.isCutOff || this.#isHit(plan.networkLoses)) {
      this.#world.hit(`${this.#call.method} loses a message`);
      return;
    }
    const delayMs = this.#isHit(plan.networkSlow) ? chance.between(50, 3000) : chance.between(2, 30) / 10;
    time.after(delayMs, arrive);
  }

  #arrive(): void {
    const { control } = this.#world;
    const { slot, process } = this.#line;
    const { method, request } = this.#call;
    if (!control || slot.isCutOff) return;
    this.#world.saw(`${method} of ${process.name} arrives`);
    // The edge may die between its question and the answer.
    if (process.alive) {
      try {
        process.passes(`${method} has arrived`);
      } catch {}
    }
    const handle = control.handlers[method] as (request: unknown, context: unknown) => Promise<Answer>;
    // The answer of a dead control plane is lost; its connections break.
    const reply = (answer: () => void) => {
      if (control.process.alive) this.#travel(() => this.#back(answer));
      else this.#world.time.after(2, () => this.#fail("UNAVAILABLE"));
    };
    handled(() => handle(request, {})).then(
      (answer) => reply(() => this.#outcome.resolve(answer)),
      (error: unknown) => reply(() => this.#outcome.reject(asAppError(error))),
    );
  }

  #back(answer: () => void): void {
    if (this.#line.slot.isCutOff) return;
    this.#finish(() => {
      this.#line.process.passes(`${this.#call.method} is answered`);
      answer();
    });
  }

  #fail(code: "DB_TIMEOUT" | "UNAVAILABLE"): void {
    this.#finish(() => this.#outcome.reject(new AppError(code, "The control plane cannot be reached right now. Try again shortly.")));
  }

  #finish(work: () => void): void {
    this.#line.process.enter(() => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#cancelDeadline();
      work();
    });
  }
}

/** What throws at once rejects like what throws later. */
async function handled<T>(work: () => Promise<T>): Promise<T> {
  return await work();
}
