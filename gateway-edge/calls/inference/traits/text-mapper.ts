/** Returns a copy of a value in which every text is replaced by `map` of it, always in the same order. */
export type TextMapper<Value> = (value: Value, map: (text: string) => string) => Value;

export function readTexts<Value>(mapper: TextMapper<Value>, value: Value): string[] {
  const texts: string[] = [];
  mapper(value, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

export function replaceTexts<Value>(mapper: TextMapper<Value>, value: Value, texts: readonly string[]): Value {
  let place = 0;
  return mapper(value, (text) => texts[place++] ?? text);
}
