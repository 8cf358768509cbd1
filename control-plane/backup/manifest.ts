import { z } from "zod";

/** The last file of a backup: what it has to contain. A backup that ends early lacks it. */
export const MANIFEST_FILE = "manifest.json";
const FORMAT = 1;

/** Folder of the store in DATA_DIR and in a backup. */
export const STORE_FOLDER = "control-plane";
/** The root secret that was generated at the first start; a SECRET_KEY of the environment is in no file. */
export const SECRET_FILE = "secret.key";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const manifestSchema = z.object({
  format: z.literal(FORMAT, "is of a newer release; restore it with that release"),
  createdAt: z.iso.datetime(),
  /** Release that made it. */
  release: z.string(),
  /** Schema version of the store. */
  schema: z.string(),
  /** Identifies the root secret, without which sealed values and hashes of keys are of no use. */
  secretFingerprint: z.string(),
  /** Heads of the ledger in the store, as `id`, number and hash. */
  heads: z.array(z.object({ id: z.string(), seq: z.int(), hash: z.string() })),
  files: z.array(z.object({ path: z.string(), bytes: z.int().min(0), sha256 })),
});

/** What a backup contains. */
export type Manifest = z.infer<typeof manifestSchema>;
export type BackupFile = Manifest["files"][number];

export function serializeManifest(manifest: Omit<Manifest, "format">): Buffer {
  return Buffer.from(`${JSON.stringify({ format: FORMAT, ...manifest }, null, 1)}\n`);
}

export function parseManifest(bytes: Buffer): Manifest {
  const parsed = manifestSchema.safeParse(JSON.parse(bytes.toString("utf8")));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${MANIFEST_FILE}: ${issue?.path.join(".")} ${issue?.message}`);
}
