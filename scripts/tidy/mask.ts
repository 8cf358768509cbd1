/** A source text in two pictures of equal shape: in `code` comments and strings are blank, in `comments` all but comments is. */
export interface Masked {
  readonly code: string;
  readonly comments: string;
}

const COMMENT_OR_STRING = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\[\s\S]|[^`\\])*`?/g;

/** Good enough for a word search, not a parser: a quote inside a regular expression may blank the rest of its line, never more. */
export function maskSource(text: string): Masked {
  let code = "";
  let comments = "";
  let done = 0;
  for (const { 0: found, index } of text.matchAll(COMMENT_OR_STRING)) {
    const before = text.slice(done, index);
    code += before + blank(found);
    comments += blank(before) + (found.startsWith("/") ? found : blank(found));
    done = index + found.length;
  }
  return { code: code + text.slice(done), comments: comments + blank(text.slice(done)) };
}

/** The text with its comments blank; strings and templates stay. */
export function withoutComments(text: string): string {
  return text.replace(COMMENT_OR_STRING, (found) => (/^\/[/*]/.test(found) ? blank(found) : found));
}

const blank = (text: string) => text.replace(/[^\n]/g, " ");
