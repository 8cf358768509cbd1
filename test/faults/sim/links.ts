/** The name of the store as one end of a link. */
export const STORE = "store";

/** From one place to another. What is cut in one direction may be whole in the other. */
export type Link = readonly [from: string, to: string];

/** Which places do not reach which others. */
export class Links {
  /** How many faults cut each link. */
  readonly #cuts = new Map<string, number>();

  /** Returns the way to join the links again. */
  cut(links: readonly Link[]): () => void {
    const names = links.map(nameOf);
    for (const name of names) this.#cuts.set(name, (this.#cuts.get(name) ?? 0) + 1);
    return () => {
      for (const name of names) this.#cuts.set(name, Math.max(0, (this.#cuts.get(name) ?? 0) - 1));
    };
  }

  isCut(from: string, to: string): boolean {
    return (this.#cuts.get(nameOf([from, to])) ?? 0) > 0;
  }

  joinAll(): void {
    this.#cuts.clear();
  }
}

/** Both directions. */
export function between(one: string, other: string): readonly Link[] {
  return [
    [one, other],
    [other, one],
  ];
}

function nameOf([from, to]: Link): string {
  return `${from} -> ${to}`;
}
