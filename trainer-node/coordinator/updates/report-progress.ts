import { ignore } from "../../../common/ignore.ts";
import type { FederationRun } from "../deps.ts";

/** A participant shows what it reports at most this often, so that a thousand of them cost one write each second. */
const REPORT_MS = 1000;

/** Collects the progress of a round's participants and reports it to the control plane, once each second while there is news. */
export interface ProgressReports {
  of(participantId: string): (fraction: number) => void;
  /** Reports nothing more, and waits for a report that is on its way. */
  stop(): Promise<void>;
}

/** Creates the reports of one round. A report that fails is not repeated: the next one has the newest state. */
export function createProgressReports({ deps, control }: Pick<FederationRun, "deps" | "control">, round: number): ProgressReports {
  let news: Record<string, number> = {};
  let cancel: (() => void) | undefined;
  let sent: Promise<unknown> = Promise.resolve();
  const send = (): void => {
    cancel = undefined;
    const progress = news;
    news = {};
    sent = ignore(control.reportProgress(round, progress), "progress is shown only; the next report replaces this one");
  };
  return {
    of: (participantId) => (fraction) => {
      news[participantId] = fraction;
      cancel ??= deps.clock.after(REPORT_MS, send);
    },
    stop: async () => {
      cancel?.();
      await sent;
    },
  };
}
