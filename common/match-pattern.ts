/**
 * Matches a whole name against a pattern in which `*` stands for any text, and returns the text of each star. The first star takes as much
 * as it can, like a greedy expression, but without backtracking: names come from callers.
 */
export function matchPattern(pattern: string, name: string): string[] | undefined {
  const [head = "", ...rest] = pattern.split("*");
  const tail = rest.pop();
  if (tail === undefined) return name === pattern ? [] : undefined;
  let end = name.length - tail.length;
  if (end < head.length || !name.startsWith(head) || !name.endsWith(tail)) return undefined;
  const captures: string[] = [];
  for (const literal of rest.reverse()) {
    const at = end - literal.length < head.length ? -1 : name.lastIndexOf(literal, end - literal.length);
    if (at < head.length) return undefined;
    captures.unshift(name.slice(at + literal.length, end));
    end = at;
  }
  return [name.slice(head.length, end), ...captures];
}
