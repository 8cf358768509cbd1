const TOKEN_LENGTH_MAX = 16;

// Every character belongs to exactly one of the three: a word or a run of punctuation, each with one space before it, or white space. So
// the tokens joined are the text again.
const PIECES = / ?[\p{L}\p{M}\p{N}_]+| ?[^\s\p{L}\p{M}\p{N}_]+|\s+/gu;

/** A deterministic tokenizer: the tokens joined are the text; none is longer than 16 characters; no character is split. */
export function splitTokens(text: string): string[] {
  const tokens: string[] = [];
  for (const [piece] of text.matchAll(PIECES)) {
    if (piece.length <= TOKEN_LENGTH_MAX) tokens.push(piece);
    else cutInto(tokens, piece);
  }
  return tokens;
}

/** The text of a message: its content, or its text parts joined. */
export function messageText(message: { readonly content?: unknown }): string {
  const { content } = message;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join("");
}

function cutInto(tokens: string[], piece: string): void {
  let token = "";
  for (const character of piece) {
    if (token.length + character.length > TOKEN_LENGTH_MAX) {
      tokens.push(token);
      token = "";
    }
    token += character;
  }
  if (token !== "") tokens.push(token);
}
