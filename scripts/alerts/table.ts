import type { Rule } from "../../test/monitoring/rules.ts";

interface Row {
  live?: { readonly what: string; readonly seconds: number };
  isProved?: boolean;
  hasPage?: boolean;
}

/** What is known of every alert of a run. */
export class AlertTable {
  /** The shipped time of alerts whose condition was held for less. */
  cut: ReadonlyMap<string, string> = new Map();
  readonly #rows: ReadonlyMap<string, Row>;
  readonly #complaints: string[] = [];

  constructor(rules: readonly Rule[]) {
    this.#rows = new Map(rules.map(({ alert }) => [alert, {}]));
  }

  fired(alert: string, live: { what: string; seconds: number }): void {
    this.#row(alert).live = live;
    console.log(`${alert}: fired after ${live.seconds.toFixed(1)} s (${live.what})`);
  }

  proved(alert: string, isProved: boolean, hasPage: boolean): void {
    Object.assign(this.#row(alert), { isProved, hasPage });
  }

  complain(text: string): void {
    this.#complaints.push(text);
  }

  /** Prints the table. Returns whether all alerts fired, are proved and have a page, and nothing else was wrong. */
  print(): boolean {
    const lines = [...this.#rows].map(([alert, row]) => this.#line(alert, row));
    const head = ["alert", "fired by", "seconds", "held for", "rule test", "runbook"];
    const widths = head.map((title, place) => Math.max(title.length, ...lines.map((line) => line[place]?.length ?? 0)));
    for (const line of [head, ...lines])
      console.log(
        line
          .map((text, place) => text.padEnd(widths[place] ?? 0))
          .join("  ")
          .trimEnd(),
      );
    for (const complaint of this.#complaints) console.log(`wrong: ${complaint}`);
    const rows = [...this.#rows.values()];
    return this.#complaints.length === 0 && rows.every(({ live, isProved, hasPage }) => live && isProved && hasPage);
  }

  #line(alert: string, { live, isProved, hasPage }: Row): string[] {
    const shipped = this.cut.get(alert);
    const heldFor = shipped === undefined ? "as shipped" : `15s of ${shipped}`;
    return [alert, live?.what ?? "NOT FIRED", live?.seconds.toFixed(1) ?? "", heldFor, isProved ? "ok" : "FAILED", hasPage ? "yes" : "NO"];
  }

  #row(alert: string): Row {
    const row = this.#rows.get(alert);
    if (!row) throw new Error(`there is no alert ${alert}`);
    return row;
  }
}
