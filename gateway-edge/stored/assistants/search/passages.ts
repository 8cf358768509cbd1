/** A piece of a file that file search can find and quote. */
export interface Passage {
  readonly fileId: string;
  readonly fileName: string;
  readonly text: string;
}

const WORDS_PER_PASSAGE = 200;
/** Words that two neighboring passages share, so that a sentence at the border is complete in one of them. */
const OVERLAP_WORDS = 40;

/** A file's text in passages of about equal length, each cut between words. */
export function passagesOf(file: { fileId: string; fileName: string; text: string }): Passage[] {
  const { fileId, fileName, text } = file;
  const starts = [...text.matchAll(/\S+/g)].map(({ index }) => index);
  const passages: Passage[] = [];
  for (let first = 0; first < starts.length; first += WORDS_PER_PASSAGE - OVERLAP_WORDS) {
    const end = starts[first + WORDS_PER_PASSAGE] ?? text.length;
    passages.push({ fileId, fileName, text: text.slice(starts[first], end).trimEnd() });
    if (first + WORDS_PER_PASSAGE >= starts.length) break;
  }
  return passages;
}
