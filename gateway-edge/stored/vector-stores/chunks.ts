/** How a file's text is cut, in tokens as OpenAI's API counts them. */
export interface Chunking {
  readonly max_chunk_size_tokens: number;
  readonly chunk_overlap_tokens: number;
}

export const DEFAULT_CHUNKING: Chunking = { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 };

/** An English token has about four characters. Chunks are cut by characters, because counting tokens of every file would take seconds. */
const CHARACTERS_PER_TOKEN = 4;
/** How far before its end a chunk may be cut to end between two words. */
const SEARCHED_SHARE = 0.25;

/** A text in chunks that overlap, each cut between words where there are any. */
export function chunksOf(text: string, { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap }: Chunking): string[] {
  const [length, shared] = [size * CHARACTERS_PER_TOKEN, overlap * CHARACTERS_PER_TOKEN];
  const chunks: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = start + length >= text.length ? text.length : borderBefore(text, start + length, Math.floor(length * SEARCHED_SHARE));
    const chunk = text.slice(start, end).trim();
    if (chunk !== "") chunks.push(chunk);
    if (end === text.length) break;
    start = Math.max(start + 1, borderBefore(text, end - shared, Math.floor(shared / 2)));
  }
  return chunks;
}

/** The last place between two words at most `within` before `end`; `end` itself if there is none, but never inside a surrogate pair. */
function borderBefore(text: string, end: number, within: number): number {
  for (let place = end; place > end - within; place--) if (/\s/.test(text[place - 1] ?? " ")) return place;
  return /[\uDC00-\uDFFF]/.test(text[end] ?? "") ? end - 1 : end;
}
