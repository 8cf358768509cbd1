import { createHash } from "node:crypto";
import { open } from "node:fs/promises";

/** Writes a file of mode 0600 durably and hashes it on the way. `flags` as of `fs.open`: "w" replaces, "wx" fails if the file exists. */
export async function writeHashed(
  path: string,
  content: AsyncIterable<Uint8Array>,
  flags: "w" | "wx",
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  const file = await open(path, flags, 0o600);
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest("hex") };
}
