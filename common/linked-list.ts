/** An object that is in at most one list. */
export interface Linked<Node> {
  before: Node | undefined;
  after: Node | undefined;
}

/**
 * A list of what is open, such as the calls that an edge answers. This is not a `Set` or `Map`: with constant insertions and deletions they allocate new tables
 * again and again, each old table references the next and its former content, and once one of them is in the old generation, the garbage collector treats all
 * that follow as live. A removed node references no other, for the same reason.
 */
export class LinkedList<Node extends Linked<Node>> {
  #oldest: Node | undefined;
  #newest: Node | undefined;

  get oldest(): Node | undefined {
    return this.#oldest;
  }

  /** Adds a node at the end; it must not be in a list. */
  add(node: Node): void {
    const before = this.#newest;
    node.before = before;
    this.#newest = node;
    if (before) before.after = node;
    else this.#oldest = node;
  }

  /** Removes a node, which must be in this list. */
  remove(node: Node): void {
    const { before, after } = node;
    if (before) before.after = after;
    else this.#oldest = after;
    if (after) after.before = before;
    else this.#newest = before;
    node.before = undefined;
    node.after = undefined;
  }

  /** The oldest first. The current node must not be removed before the next is asked for. */
  *[Symbol.iterator](): Generator<Node> {
    for (let node = this.#oldest; node; node = node.after) yield node;
  }
}
