import { asAppError } from "../../../common/errors.ts";
import type { ReserveInput } from "../../../gateway-edge/credit/credit.ts";
import { callId, progressOf, servedOf } from "../../../gateway-edge/credit/journal/journal-fixture.ts";
import { costOf, finalFor, intentFor, type SimCall, tokensWithin } from "./call-record.ts";
import type { EdgeLife, EdgeSlot } from "./edge-slot.ts";
import type { PlannedCall } from "./plan.ts";
import { Died } from "./sim-process.ts";
import type { World } from "./world.ts";

/** Tokens between two notes of what was delivered. */
const PROGRESS_TOKENS = 32;
const PIECE_TOKENS = 8;
const SLICE_TOKENS = 32;

/** A client calls one of the running edges: reserve, deliver, end, as the data path does. The call ends with its edge. */
export function playCall(world: World, planned: PlannedCall, index: number): void {
  const slots = world.slots.filter(({ life, isDraining }) => life !== undefined && !life.process.isStopped && !isDraining);
  if (slots.length === 0) return;
  const slot = world.chance.pick(slots);
  const { life } = slot;
  if (!life) return;
  const call = newCall({ planned, index, life });
  world.calls.set(call.id, call);
  life.running++;
  runCall({ world, slot, life, planned, call })
    .catch((thrown: unknown) => {
      if (life.process.alive && !(thrown instanceof Died)) throw thrown;
    })
    .finally(() => {
      life.running--;
    });
}

interface Running {
  readonly world: World;
  readonly slot: EdgeSlot;
  readonly life: EdgeLife;
  readonly planned: PlannedCall;
  readonly call: SimCall;
}

async function runCall({ world, slot, life, planned, call }: Running): Promise<void> {
  const { process, credit } = life;
  try {
    const { reserved } = await credit.reserve(inputFor(call));
    if (!process.alive) return;
    call.reserved = reserved;
  } catch (thrown) {
    if (!process.alive) return;
    call.refusedWith = asAppError(thrown).code;
    world.saw(`${call.id} is refused: ${call.refusedWith}`);
    return;
  }
  call.admitted = true;
  call.generation = call.isLimited ? 0n : (life.generations.get(call.organizationId) ?? 0n);
  world.saw(`${call.id} is admitted with ${call.reserved} of ${call.worstCase}`);
  process.passes("a call is admitted");
  // What an upstream counts beyond its limit it counts beyond a lower one too.
  const beyond = Math.max(0, planned.tokens - planned.maxTokens);
  const tokens = call.stream ? planned.tokens : Math.min(planned.tokens, tokensWithin(call) + beyond);
  if (call.stream) await stream({ world, slot, life, planned, call }, tokens);
  else await process.clock.sleep(planned.stepMs);
  if (!process.alive) return;
  process.passes("a call is at its end");
  const outcome = { tokens: call.stream ? call.delivered : tokens, status: planned.ends };
  // An answer without streaming that failed, or whose client left, is never delivered.
  const row = finalFor(call, call.stream || planned.ends === "success" ? outcome : { ...outcome, tokens: 0 });
  call.finalCost = row.cost;
  world.saw(`${call.id} ends for ${row.cost}`);
  await credit.settle(row);
  if (!process.alive) return;
  call.acknowledged = true;
  world.saw(`${call.id} has its last byte`);
  process.passes("a last byte is sent");
}

async function stream(running: Running, tokens: number): Promise<void> {
  const { life, planned, call } = running;
  const { process, credit } = life;
  const isShort = call.reserved < call.worstCase;
  credit.served(servedOf(call.index));
  // A client that leaves, leaves in the middle.
  const until = planned.ends === "success" ? tokens : Math.floor(tokens / 2);
  let noted = 0;
  while (call.delivered < until) {
    await process.clock.sleep(planned.stepMs);
    const next = Math.min(until, call.delivered + PIECE_TOKENS);
    if (isShort && !(await covers(running, next))) return;
    call.delivered = next;
    if (call.delivered - noted < PROGRESS_TOKENS) continue;
    noted = call.delivered;
    call.notedTokens.push(noted);
    credit.progress(progressOf(call.index, noted));
    process.passes("a first piece is delivered");
  }
}

/** As the data path does: more is asked for where what is held does not pay for what comes next. The first piece may always go out. */
async function covers({ world, life, call }: Running, tokens: number): Promise<boolean> {
  if (costOf(tokens) <= call.reserved) return true;
  const wanted = costOf(tokens + SLICE_TOKENS);
  const got = await life.credit.grow(inputFor(call), (wanted < call.worstCase ? wanted : call.worstCase) - call.reserved);
  if (!life.process.alive) return false;
  call.reserved += got;
  if (got > 0n && !call.isLimited) call.generation = life.generations.get(call.organizationId) ?? 0n;
  world.hit(got > 0n ? "a stream gets more credit" : "a stream gets no more credit");
  return costOf(tokens) <= call.reserved || call.delivered === 0;
}

function inputFor(call: SimCall): ReserveInput {
  return { intent: intentFor(call), model: "m", tokens: 3, isLimited: call.isLimited };
}

function newCall({ planned, index, life }: { planned: PlannedCall; index: number; life: EdgeLife }): SimCall {
  const { organizationId, maxTokens, stream: isStream, isLimited } = planned;
  return {
    id: callId(index),
    index,
    organizationId,
    edgeId: life.id,
    maxTokens,
    worstCase: costOf(maxTokens),
    stream: isStream,
    isLimited,
    admitted: false,
    refusedWith: undefined,
    reserved: 0n,
    generation: 0n,
    delivered: 0,
    notedTokens: [],
    finalCost: undefined,
    acknowledged: false,
    cutBy: undefined,
    troubled: false,
  };
}
