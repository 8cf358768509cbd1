/**
 * The last position after a letter or digit and before a character that cannot belong to the same piece, 0 if there is none after `from`.
 * No published vocabulary has a token across it. The end does not qualify: what follows is unknown.
 */
export function lastCut(text: string, from: number): number {
  for (let at = text.length - 1; at > from; at--) if (isWord(text, at - 1) && endsWord(text, at)) return at;
  return 0;
}

const ASCII_END = 0x80;
const WORD = /^[\p{L}\p{N}]/u;
const GOES_ON = /^[\p{L}\p{N}\p{M}\p{Cs}'_]/u;

function isWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code < ASCII_END ? isAsciiWord(code) : WORD.test(text.charAt(at));
}

function endsWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < ASCII_END) return !isAsciiWord(code) && code !== 0x27 && code !== 0x5f;
  return !GOES_ON.test(text.slice(at, at + 2));
}

function isAsciiWord(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39);
}

/** The length of a text without half a surrogate pair at its end. */
export function wholeCharacters(text: string): number {
  return (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800 ? text.length - 1 : text.length;
}
