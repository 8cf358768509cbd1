import type { CommandStartedEvent, Document } from "mongodb";

/** Names of the write commands that the driver sends. */
const WRITES: ReadonlySet<string> = new Set(["insert", "update", "delete", "findAndModify"]);

/** The documents that a process writes, from the driver's own events, while they are counted. */
export class WrittenDocuments {
  #keys: Set<string> | undefined;

  readonly onCommand = ({ command, commandName }: Pick<CommandStartedEvent, "command" | "commandName">): void => {
    if (this.#keys === undefined || !WRITES.has(commandName)) return;
    for (const selected of selectedBy(command)) this.#keys.add(`${command[commandName]} ${idOf(selected)}`);
  };

  begin(): void {
    this.#keys = new Set();
  }

  /** Collection and id of each document that was written since the begin. */
  end(): string[] {
    const keys = [...(this.#keys ?? [])];
    this.#keys = undefined;
    return keys;
  }
}

/** What is in more than one of the lists. */
export function inSeveral(lists: readonly (readonly string[])[]): string[] {
  const counts = new Map<string, number>();
  for (const key of lists.flatMap((list) => [...new Set(list)])) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > 1).map(([key]) => key);
}

function selectedBy({ documents = [], updates = [], deletes = [], query }: Document): Document[] {
  return [...documents, ...[...updates, ...deletes].map(({ q }: Document) => q), ...(query === undefined ? [] : [query])];
}

/** A write that names no document may be one of any, which is an error of the program that writes. */
function idOf({ _id }: Document): string {
  if (typeof _id !== "string" && typeof _id !== "number" && typeof _id !== "bigint") throw new Error("a write names no document");
  return String(_id);
}
