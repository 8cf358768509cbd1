/** The value that this browser keeps under a name; null if there is none, or if it cannot be read. */
export function readStored(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null");
  } catch (error) {
    console.warn(`The stored value ${name} cannot be read; the default is used.`, error);
    return null;
  }
}

/** A browser without storage, or with a full one, keeps the value only until the page is left. */
export function writeStored(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch (error) {
    console.warn(`The value ${name} could not be stored; it is kept until the page is left.`, error);
  }
}
