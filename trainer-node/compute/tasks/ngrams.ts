/** The hashed n-grams of a text: words, pairs of words, and character triples of each word, in lower case. */
export function hashedNgrams(text: string, buckets: number): number[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const ids: number[] = [];
  words.forEach((word, index) => {
    ids.push(hash(word) % buckets);
    const next = words[index + 1];
    if (next !== undefined) ids.push(hash(`${word} ${next}`) % buckets);
    const marked = `<${word}>`;
    for (let start = 0; start + 3 <= marked.length && marked.length > 3; start++)
      ids.push(hash(`#${marked.slice(start, start + 3)}`) % buckets);
  });
  return ids;
}

/** FNV-1a of the UTF-16 units, 32 bits. */
function hash(text: string): number {
  let value = 0x811c_9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x0100_0193) >>> 0;
  return value;
}
