import { median } from "./median.ts";

/** One minute of a soak. */
export interface SoakMinute {
  readonly answered: number;
  /** Memory of JavaScript objects after a full garbage collection, of each process. */
  readonly edgeHeapMb: number;
  readonly controlHeapMb: number;
  /** Median of the minute. */
  readonly unsettled: number;
}

/** The customer's money before and after, in nano-USD. */
interface SoakMoney {
  readonly before: bigint;
  readonly after: bigint;
  readonly costOfCall: bigint;
  readonly answered: number;
  /** Calls without an answer, which may have been billed. */
  readonly broken: number;
}

/** A heap may be larger by the greater of the two: caches fill up, and it is not measured to the megabyte. */
const HEAP_SHARE_MOST = 1.1;
const HEAP_MB_MORE = 8;
/** As many calls as an edge answers between two shipments to the ledger. */
const UNSETTLED_MORE = 2000;

/** What is wrong; empty if the soak passed. */
export function soakFailures(minutes: readonly SoakMinute[], money: SoakMoney): string[] {
  return [
    ...growth("the edge's heap", "MB", minutes, ({ edgeHeapMb }) => edgeHeapMb, heapMost),
    ...growth("the control plane's heap", "MB", minutes, ({ controlHeapMb }) => controlHeapMb, heapMost),
    ...growth(
      "the number of unsettled calls",
      "calls",
      minutes,
      ({ unsettled }) => unsettled,
      (first) => first * 1.5 + UNSETTLED_MORE,
    ),
    ...wrongBalance(money),
  ];
}

function heapMost(first: number): number {
  return Math.max(first * HEAP_SHARE_MOST, first + HEAP_MB_MORE);
}

/** Compares the last third with the first, without the first minute if there are enough: it fills caches. */
function growth(
  what: string,
  unit: string,
  minutes: readonly SoakMinute[],
  valueIn: (minute: SoakMinute) => number,
  mostOf: (first: number) => number,
): string[] {
  const values = minutes.slice(minutes.length > 3 ? 1 : 0).map(valueIn);
  if (values.length < 2) return [`${what}: ${values.length} minutes are too few to see growth`];
  const third = Math.max(1, Math.floor(values.length / 3));
  const [first, last] = [median(values.slice(0, third)), median(values.slice(-third))];
  return last <= mostOf(first) ? [] : [`${what} grew from ${first.toFixed(0)} to ${last.toFixed(0)} ${unit}`];
}

function wrongBalance({ before, after, costOfCall, answered, broken }: SoakMoney): string[] {
  const billed = before - after;
  const least = BigInt(answered) * costOfCall;
  const most = BigInt(answered + broken) * costOfCall;
  if (billed >= least && billed <= most && billed % costOfCall === 0n) return [];
  return [`the balance fell by ${billed} nano-USD; ${answered} answered calls (${broken} broken) cost ${least}`];
}
