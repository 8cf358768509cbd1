export interface Delta {
  content?: string | null;
  tool_calls?: { function?: { name?: string; arguments?: string } }[];
}

const FENCE = "```";

/**
 * Makes Markdown of the pieces of one answer. A tool call is a block of code, so that nothing of it is read as Markdown; what follows it closes the block,
 * and one at the end needs no end.
 */
export function deltaTexts(): (delta: Delta | undefined) => string {
  let isInCall = false;
  const leave = (): string => {
    const end = isInCall ? `\n${FENCE}\n` : "";
    isInCall = false;
    return end;
  };
  const enter = (name: string): string => {
    const start = `${leave()}\n${FENCE}\n${name} `;
    isInCall = true;
    return start;
  };
  return ({ content, tool_calls: tools = [] } = {}) => {
    const said = content ? leave() + content : "";
    const calls = tools.map(({ function: named }) => (named?.name ? enter(named.name) : "") + (named?.arguments ?? ""));
    return said + calls.join("");
  };
}

/** Whether an answer is a JSON document, which Markdown would alter. */
export function isJsonDocument(text: string): boolean {
  if (!/^[{[]/.test(text.trimStart())) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Prose that begins with a bracket, or a document that has not arrived as a whole.
    return false;
  }
}
