import fc from "fast-check";
import { LinkedList } from "./linked-list.ts";

interface Node {
  readonly name: number;
  before: Node | undefined;
  after: Node | undefined;
}

test("a list has the nodes that were added and not removed, in their order, and a removed node references no other", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 60 }), (steps) => {
      const list = new LinkedList<Node>();
      const expected: Node[] = [];
      for (const [adds, place] of steps) {
        const removed = adds ? undefined : expected.splice(place % Math.max(expected.length, 1), 1)[0];
        if (removed) {
          list.remove(removed);
          expect(removed).toEqual({ name: removed.name, before: undefined, after: undefined });
        } else if (adds) {
          const node = { name: place, before: undefined, after: undefined };
          list.add(node);
          expected.push(node);
        }
        expect([...list]).toEqual(expected);
        expect(list.oldest).toBe(expected[0]);
      }
    }),
  );
});
