import { status } from "@grpc/grpc-js";
import { AppError, asAppError } from "../../../common/errors.ts";
import { fromErrorInfo, toErrorInfo } from "../../../common/grpc/status.ts";
import { AccessServiceService } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { CreditHandlers } from "./mutant.ts";
import type { PlaneSlot } from "./plane-slot.ts";
import type { SimProcess } from "./sim-process.ts";
import type { World } from "./world.ts";

/** A process that calls control planes. */
export interface Caller {
  /** Of the place where it runs. */
  readonly name: string;
  readonly process: SimProcess;
  /** A message of it may be lost or come twice. */
  onTrouble?(): void;
}

export type Method = keyof CreditHandlers;

/** A question. Both it and its answer travel as bytes. */
export interface Question {
  readonly method: Method;
  readonly request: unknown;
  readonly deadlineMs: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Asks a control plane over a network that delays, loses, repeats and reorders. */
export function askPlane(world: World, caller: Caller, to: PlaneSlot, question: Question): Promise<unknown> {
  return new Rpc(world, caller, { to, ...question }).run();
}

/** One question and its answer. */
class Rpc {
  readonly #world: World;
  readonly #caller: Caller;
  readonly #call: Question & { readonly to: PlaneSlot };
  readonly #definition;
  readonly #outcome = Promise.withResolvers<unknown>();
  #untilMs = 0;
  #cancelDeadline: () => void = () => {};
  #isOver = false;

  constructor(world: World, caller: Caller, call: Question & { readonly to: PlaneSlot }) {
    this.#world = world;
    this.#caller = caller;
    this.#call = call;
    this.#definition = AccessServiceService[call.method];
  }

  run(): Promise<unknown> {
    const { time, links } = this.#world;
    const { method, deadlineMs, to } = this.#call;
    this.#caller.process.passes(`${method} is sent`);
    this.#untilMs = time.nowMs + deadlineMs;
    this.#cancelDeadline = time.after(deadlineMs, () => this.#fail("DB_TIMEOUT"));
    if (!to.core?.isServing && !links.isCut(this.#caller.name, to.name)) {
      time.after(1, () => this.#fail("UNAVAILABLE", UNSENT));
      return this.#outcome.promise;
    }
    this.#travel([this.#caller.name, to.name], () => this.#arrive());
    if (this.#isHit(this.#world.plan.networkRepeats)) {
      this.#world.hit(`${method} arrives twice`);
      // What the second copy grants the caller hears of only when it asks again.
      this.#caller.onTrouble?.();
      this.#travel([this.#caller.name, to.name], () => this.#arrive());
    }
    return this.#outcome.promise;
  }

  #isHit(probability: number): boolean {
    return !this.#world.calm && this.#world.chance.happens(probability);
  }

  #travel([from, to]: readonly [string, string], arrive: () => void): void {
    const { chance, plan, time, links } = this.#world;
    if (links.isCut(from, to) || this.#isHit(plan.networkLoses)) {
      this.#world.hit(`${this.#call.method} loses a message`);
      return;
    }
    const delayMs = this.#isHit(plan.networkSlow) ? chance.between(50, 3000) : chance.between(2, 30) / 10;
    time.after(delayMs, () => {
      if (!links.isCut(from, to)) arrive();
    });
  }

  #arrive(): void {
    const { core } = this.#call.to;
    const { name, process } = this.#caller;
    const { method } = this.#call;
    if (!core?.isServing) return;
    this.#world.saw(`${method} of ${process.name} arrives at ${core.process.name}`);
    // The caller may die between its question and the answer.
    if (process.alive && !name.startsWith("plane")) {
      try {
        process.passes(`${method} has arrived`);
      } catch {}
    }
    core.process.enter(() => this.#handle(core));
  }

  #handle(core: NonNullable<PlaneSlot["core"]>): void {
    const { method, request, metadata = {}, to } = this.#call;
    const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } = this.#definition as Bytes;
    // The answer of a dead control plane is lost; its connections break.
    const reply = (answer: () => void) => {
      if (core.process.alive) this.#travel([to.name, this.#caller.name], () => this.#back(answer));
      else this.#world.time.after(2, () => this.#fail("UNAVAILABLE"));
    };
    const remainingMs = this.#untilMs - this.#world.time.nowMs;
    core.answer(method, requestDeserialize(requestSerialize(request)), { metadata, remainingMs }).then(
      (answer) => reply(() => this.#outcome.resolve(responseDeserialize(responseSerialize(answer)))),
      (error: unknown) => reply(() => this.#outcome.reject(fromErrorInfo(toErrorInfo(asAppError(error))))),
    );
  }

  #back(answer: () => void): void {
    this.#finish(() => {
      this.#caller.process.passes(`${this.#call.method} is answered`);
      answer();
    });
  }

  #fail(code: "DB_TIMEOUT" | "UNAVAILABLE", cause?: object): void {
    const message = "The control plane cannot be reached right now. Try again shortly.";
    this.#finish(() => this.#outcome.reject(new AppError(code, message, { cause })));
  }

  #finish(work: () => void): void {
    this.#caller.process.enter(() => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#cancelDeadline();
      work();
    });
  }
}

interface Bytes {
  requestSerialize(message: unknown): Buffer;
  requestDeserialize(bytes: Buffer): unknown;
  responseSerialize(message: unknown): Buffer;
  responseDeserialize(bytes: Buffer): unknown;
}

/** The error that grpc-js gives for a call that it never sent. */
const UNSENT = { code: status.UNAVAILABLE, details: "No connection established. Last error: refused" };
