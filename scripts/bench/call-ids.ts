import { systemClock } from "../../common/clock.ts";
import { newId } from "../../common/ids.ts";

/** The id of a call of a time, always the same for a number. Stores pack rows by the time in their ids, so made-up ids would be measured instead. */
export function callIdAt(time: number, number: number): string {
  const bytes = (count: number) => {
    const given = Buffer.alloc(count);
    given.writeUInt32BE(number, count - 4);
    return given;
  };
  return newId("call", { clock: { ...systemClock, now: () => time }, random: { bytes } });
}
