/** Values that were masked in one call: one placeholder for each distinct value. */
export class Vault {
  readonly #byValue = new Map<string, string>();
  readonly #byPlaceholder = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  placeholderFor(kind: string, value: string): string {
    const known = this.#byValue.get(`${kind} ${value}`);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    const placeholder = `[${kind}_${count}]`;
    this.#counts.set(kind, count);
    this.#byValue.set(`${kind} ${value}`, placeholder);
    this.#byPlaceholder.set(placeholder, value);
    return placeholder;
  }

  /** The text with every placeholder of this call replaced by its value. */
  restore(text: string): string {
    if (this.#byPlaceholder.size === 0) return text;
    return text.replace(/\[[A-Z_]+_\d+\]/g, (placeholder) => this.#byPlaceholder.get(placeholder) ?? placeholder);
  }
}
