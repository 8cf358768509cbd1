import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { defineConfig } from "vitepress";
import { linkedFiles, siteAddress, sourceOf } from "./links.ts";
import { GUIDES, SIDEBAR } from "./sidebar.ts";

const root = resolve(import.meta.dirname, "../..");
const NOT_RUN = /not-run="([^"]+)"/;

/** The pages that `make docs` builds and the edge serves at /docs/. A link to a page that does not exist fails the build. */
export default defineConfig({
  title: "Tributary",
  description: "An OpenAI-compatible gateway with accounts, prices and a ledger, and federated training of models that it serves itself.",
  base: "/docs/",
  cleanUrls: true,
  metaChunk: true,
  srcExclude: ["**/node_modules/**"],
  markdown: {
    // Nothing of a page is HTML: <id> and {{x}} are texts.
    html: false,
    config(md) {
      md.core.ruler.push("site-addresses", ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.type === "link_open" ? token.attrGet("href") : null;
          if (href !== null) token.attrSet("href", siteAddress(env.relativePath, href));
        }
      });
      const fence = md.renderer.rules.fence;
      if (fence === undefined) throw new Error("the renderer has no rule for code");
      md.renderer.rules.fence = (tokens, index, ...rest) => {
        const reason = NOT_RUN.exec(tokens[index]?.info ?? "")?.[1];
        const code = fence(tokens, index, ...rest);
        return reason === undefined ? code : `${code}<p><small>Not run by the tests: ${md.utils.escapeHtml(reason)}.</small></p>`;
      };
    },
  },
  themeConfig: {
    nav: [
      { text: "Guides", link: "/quick-start" },
      // Not a page of the site: the edge makes it from /openapi.json.
      { text: "API reference", link: "/api", target: "_self" },
    ],
    sidebar: SIDEBAR.map((section) => ({ ...section, items: [...section.items] })),
    search: { provider: "local" },
    outline: [2, 3],
  },
  buildEnd({ outDir, pages }) {
    // The same pages as Markdown, for programs that read them, one by one and in one file.
    for (const page of pages) copy(join(root, sourceOf(page)), join(outDir, page));
    for (const file of linkedFiles) copy(join(root, file), join(outDir, "files", `${file}.txt`));
    const guides = GUIDES.flatMap(({ items }) => items.map(({ link }) => join(root, sourceOf(`${link.slice(1)}.md`))));
    writeFileSync(join(outDir, "llms-full.txt"), guides.map((path) => readFileSync(path, "utf8")).join("\n"));
  },
});

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}
