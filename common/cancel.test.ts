import fc from "fast-check";
import { abortSignalOf, Cancel, type CancelSignal } from "./cancel.ts";

const REASON = new Error("ended");

/** The platform's own, to be compared with. */
class Platform {
  readonly #controller = new AbortController();

  get signal(): CancelSignal {
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }
}

type Step = { readonly type: "add" | "remove"; readonly listener: number } | { readonly type: "abort"; readonly reason: number };

const steps = fc.array(
  fc.oneof(
    fc.record({ type: fc.constantFrom("add" as const, "remove" as const), listener: fc.nat(3) }),
    fc.record({ type: fc.constant("abort" as const), reason: fc.nat(2) }),
  ),
);

function called(steps: readonly Step[], { signal, abort }: { signal: CancelSignal; abort: (reason: unknown) => void }) {
  const calls: unknown[] = [];
  const listeners = Array.from({ length: 4 }, (_, number) => () => void calls.push([number, signal.aborted, signal.reason]));
  for (const step of steps) {
    if (step.type === "abort") abort(step.reason);
    else if (step.type === "add") signal.addEventListener("abort", listeners[step.listener] as () => void, { once: true });
    else signal.removeEventListener("abort", listeners[step.listener] as () => void);
  }
  return { calls, aborted: signal.aborted, reason: signal.reason };
}

test("listeners are called as those of an AbortSignal, whatever comes, goes and ends", () => {
  fc.assert(
    fc.property(steps, (given) => {
      const [cancel, platform] = [new Cancel(), new Platform()];
      const own = called(given, { signal: cancel, abort: (reason) => cancel.abort(reason) });
      expect(own).toEqual(called(given, { signal: platform.signal, abort: (reason) => platform.abort(reason) }));
    }),
  );
});

test("a listener that leaves or joins while all are called changes nothing for the others", () => {
  const cancel = new Cancel();
  const calls: string[] = [];
  const second = () => void calls.push("second");
  const first = () => {
    calls.push("first");
    cancel.removeEventListener("abort", first);
    cancel.addEventListener("abort", () => void calls.push("late"));
  };
  cancel.addEventListener("abort", first);
  cancel.addEventListener("abort", second);
  cancel.abort(REASON);
  expect(calls).toEqual(["first", "second"]);
});

test("throwIfAborted throws the first reason", () => {
  const cancel = new Cancel();
  expect(() => cancel.throwIfAborted()).not.toThrow();
  cancel.abort(REASON);
  cancel.abort(new Error("later"));
  expect(() => cancel.throwIfAborted()).toThrow(REASON);
});

test("a listener that fails does not keep the others from being called, and its error is thrown", () => {
  const cancel = new Cancel();
  const calls: string[] = [];
  cancel.addEventListener("abort", () => void calls.push("first"));
  cancel.addEventListener("abort", () => {
    throw REASON;
  });
  cancel.addEventListener("abort", () => void calls.push("last"));
  expect(() => cancel.abort(new Error("cut"))).toThrow(REASON);
  expect(calls).toEqual(["first", "last"]);
});

describe("as an AbortSignal", () => {
  const kinds: Readonly<Record<string, () => { signal: CancelSignal; abort: (reason: unknown) => void }>> = {
    "an own one": () => {
      const cancel = new Cancel();
      return { signal: cancel, abort: (reason) => cancel.abort(reason) };
    },
    "a platform's": () => {
      const platform = new Platform();
      return { signal: platform.signal, abort: (reason) => platform.abort(reason) };
    },
    "any other": () => {
      const cancel = new Cancel();
      const signal: CancelSignal = {
        get aborted() {
          return cancel.aborted;
        },
        get reason() {
          return cancel.reason;
        },
        throwIfAborted: () => cancel.throwIfAborted(),
        addEventListener: (type, listener) => cancel.addEventListener(type, listener),
        removeEventListener: (type, listener) => cancel.removeEventListener(type, listener),
      };
      return { signal, abort: (reason) => cancel.abort(reason) };
    },
  };

  test.each(Object.keys(kinds))("%s is aborted with its reason, before and after it became one", (kind) => {
    const [early, late] = [kinds[kind]?.(), kinds[kind]?.()];
    if (!early || !late) throw new Error("no such kind");
    const signal = abortSignalOf(early.signal);
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(signal.aborted).toBe(false);
    early.abort(REASON);
    late.abort(REASON);
    expect([signal.reason, abortSignalOf(late.signal).reason]).toEqual([REASON, REASON]);
  });
});
