/** Width in terminal columns: East Asian characters and most emoji take two. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Truncates a text to `width` and marks the cut with an ellipsis. */
export function truncate(text: string, width: number): string {
  return textWidth(text) <= width ? text : `${takeWidth(text, width - 1)}…`;
}

/** Truncates a line with color codes: they take no width, and the cut resets them. */
export function truncateLine(line: string, width: number): string {
  const parts = line.split(COLOR_CODE);
  if (textWidth(parts.filter((part) => !isColorCode(part)).join("")) <= width) return line;
  let room = width - 1;
  let result = "";
  for (const part of parts) {
    const text = isColorCode(part) ? part : takeWidth(part, room);
    if (!isColorCode(part)) room -= textWidth(text);
    result += text;
    if (!isColorCode(part) && text !== part) break;
  }
  return `${result}…${parts.length > 1 ? "\u001b[0m" : ""}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the color codes that paint.ts writes
const COLOR_CODE = /(\u001b\[\d+m)/;
const isColorCode = (part: string): boolean => COLOR_CODE.test(part);

function takeWidth(text: string, room: number): string {
  let [result, used] = ["", 0];
  for (const character of text) {
    used += characterWidth(character);
    if (used > room) break;
    result += character;
  }
  return result;
}

function characterWidth(character: string): number {
  return /\p{M}/u.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
