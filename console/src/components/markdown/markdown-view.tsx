import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode } from "react";
import { CodeBlock } from "../code-block.tsx";

/** Longer texts are shown as they are, because a pathological text can take the reader long. */
const CHARACTERS_MAX = 100_000;

/**
 * Markdown as React elements. No HTML is made from the text: tags in it are shown as text, links open only http, https and mailto
 * addresses, and images are links, because an image would tell its server that the answer was read.
 */
export function MarkdownView({ text }: { text: string }) {
  if (text.length > CHARACTERS_MAX) return <span style={{ whiteSpace: "pre-wrap" }}>{text}</span>;
  return <div className="markdown">{inner(lexer(text))}</div>;
}

const inner = (tokens: readonly Token[] | undefined): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity, and a text only grows at its end
  tokens?.map((token, index) => <Fragment key={index}>{view(token)}</Fragment>);

function view(token: Token): ReactNode {
  return VIEWS[token.type]?.(token as Tokens.Generic) ?? ("tokens" in token && token.tokens ? inner(token.tokens) : textOf(token));
}

const textOf = (token: Token): string => ("text" in token ? String(token.text) : token.raw);

/** Elements by kind of token; a kind that is not here is shown as its text. */
const VIEWS: Readonly<Record<string, (token: Tokens.Generic) => ReactNode>> = {
  space: () => "",
  def: () => "",
  hr: () => <hr />,
  br: () => <br />,
  html: ({ raw }) => raw,
  escape: ({ text }) => text,
  heading: ({ tokens }) => (
    <p>
      <strong>{inner(tokens)}</strong>
    </p>
  ),
  paragraph: ({ tokens }) => <p>{inner(tokens)}</p>,
  blockquote: ({ tokens }) => <blockquote>{inner(tokens)}</blockquote>,
  strong: ({ tokens }) => <strong>{inner(tokens)}</strong>,
  em: ({ tokens }) => <em>{inner(tokens)}</em>,
  del: ({ tokens }) => <del>{inner(tokens)}</del>,
  codespan: ({ text }) => <code>{text}</code>,
  code: ({ text }) => <CodeBlock code={text} label="Copy code" />,
  link: ({ href, tokens }) => <SafeLink href={href}>{inner(tokens)}</SafeLink>,
  image: ({ href, text }) => <SafeLink href={href}>{text || href}</SafeLink>,
  list: (token) => <List token={token as Tokens.List} />,
  table: (token) => <Table token={token as Tokens.Table} />,
};

const LINKED = /^(https?:\/\/|mailto:)/i;

function SafeLink({ href, children }: { href: string; children: ReactNode }) {
  if (!LINKED.test(href)) return children;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function List({ token: { ordered, start, items } }: { token: Tokens.List }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: items have no identity
  const rows = items.map((item, index) => <li key={index}>{inner(item.tokens)}</li>);
  return ordered ? <ol start={Number(start) || 1}>{rows}</ol> : <ul>{rows}</ul>;
}

function Table({ token: { header, rows } }: { token: Tokens.Table }) {
  const cells = (row: readonly Tokens.TableCell[], Cell: "th" | "td") =>
    // biome-ignore lint/suspicious/noArrayIndexKey: cells have no identity
    row.map(({ tokens }, index) => <Cell key={index}>{inner(tokens)}</Cell>);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reachable by keyboard
    <section className="markdown-table" aria-label="Table of the response" tabIndex={0}>
      <table>
        <thead>
          <tr>{cells(header, "th")}</tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity
            <tr key={index}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
