import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const folder = resolve(import.meta.dirname, "dist");

export default defineConfig({
  root: import.meta.dirname,
  base: "/ui/",
  plugins: [compressed()],
  build: {
    outDir: folder,
    emptyOutDir: true,
    target: "es2023",
    // The page's policy allows no inline script, and a preload helper would need none: modern browsers preload by themselves.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    manifest: "manifest.json",
    rolldownOptions: {
      // "use client" in the component library means nothing here, and would be a thousand lines of warnings.
      onLog: (level, log, report) => (log.code === "MODULE_LEVEL_DIRECTIVE" ? undefined : report(level, log)),
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        // A first visit costs a request per file, so small parts that screens share are merged into their neighbors.
        codeSplitting: {
          groups: [{ name: "shared", minShareCount: 3 }],
        },
      },
    },
  },
  server: { proxy: { "^/(api|v1|training|fallback)": "http://127.0.0.1:4000" } },
});

/** Compressed once here, as small as it gets, instead of at every request. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(js|css|html|svg|json)$/.test(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        const body = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(body, { level: 9 }));
        writeFileSync(`${path}.br`, brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
      }
    },
  };
}
