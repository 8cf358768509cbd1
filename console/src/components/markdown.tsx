import { lazy, Suspense } from "react";

const MarkdownView = lazy(async () => ({ default: (await import("./markdown/markdown-view.tsx")).MarkdownView }));

/** Markdown as elements; plain text until its reader is loaded. */
export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<span style={{ whiteSpace: "pre-wrap" }}>{text}</span>}>
      <MarkdownView text={text} />
    </Suspense>
  );
}
