/** Seconds that a person takes for a step, from PACE. */
export function paceSeconds(otherwise: number): number {
  const given = process.env["PACE"] ?? "";
  const seconds = given === "" ? otherwise : Number(given);
  if (!(seconds >= 0 && seconds <= 60)) throw new Error(`PACE is the seconds of a pause, from 0 to 60, not ${given}.`);
  return seconds;
}

/** Pauses of a person who types and reads, added up. */
export class Pace {
  readonly pauseMs: number;
  pausedMs = 0;

  constructor(seconds: number) {
    this.pauseMs = seconds * 1000;
  }

  readonly pause = async (): Promise<void> => {
    const beganAt = performance.now();
    await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
    this.pausedMs += performance.now() - beganAt;
  };
}
