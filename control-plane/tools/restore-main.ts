import { restore } from "../backup/restore.ts";
import { openEmbeddedStore } from "../stores/embedded/store.ts";
import { runTool } from "./tool.ts";

// `gw admin restore` starts it.
await runTool(["from", "data-dir"], async ({ option, signal }) => {
  const options = { from: option("from"), folder: option("data-dir"), openStore: openEmbeddedStore, signal };
  const { folder, manifest, ledger, hasSecretFile } = await restore(options);
  const { createdAt, release, secretFingerprint, heads, files } = manifest;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const { ok, sum, entries, accounts, usageRows, rollups, lastSeq, hash } = ledger;
  const proof = { ok, sum, entries, accounts, usageRows, rollups, lastSeq, hash, heads };
  return { folder, createdAt, release, files: files.length, bytes, ...proof, hasSecretFile, secretFingerprint };
});
