/** Width in terminal columns: East Asian characters and most emoji take two. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Truncates a text to `width` and marks the cut with an ellipsis. */
export function cut(text: string, width: number): string {
  return textWidth(text) <= width ? text : `${keep(text, width - 1)}…`;
}

/** Truncates a line with color codes: they take no width, and the cut resets them. */
export function cutLine(line: string, width: number): string {
  const parts = line.split(COLOUR);
  if (textWidth(parts.filter((part) => !isColour(part)).join("")) <= width) return line;
  let room = width - 1;
  let kept = "";
  for (const part of parts) {
    const text = isColour(part) ? part : keep(part, room);
    if (!isColour(part)) room -= textWidth(text);
    kept += text;
    if (!isColour(part) && text !== part) break;
  }
  return `${kept}…${parts.length > 1 ? "\u001b[0m" : ""}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the color codes that paint.ts writes
const COLOUR = /(\u001b\[\d+m)/;
const isColour = (part: string): boolean => COLOUR.test(part);

function keep(text: string, room: number): string {
  let [kept, used] = ["", 0];
  for (const character of text) {
    used += characterWidth(character);
    if (used > room) break;
    kept += character;
  }
  return kept;
}

function characterWidth(character: string): number {
  return /\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
