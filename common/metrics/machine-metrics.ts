import { X509Certificate } from "node:crypto";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Registry } from "prom-client";
import { addGauge } from "./read-metrics.ts";

/** The settings of a process that say what it needs of its machine. */
export interface MachineConfig {
  readonly dataDir: string;
  readonly tls?: { readonly cert: Buffer } | undefined;
}

/** Adds what ends by itself unless an operator acts: the space of the disk that has DATA_DIR, and the time of the certificate. */
export function addMachineMetrics(registry: Registry, { dataDir, tls }: MachineConfig): void {
  const disk = (name: string, help: string, value: (blocks: { bavail: number; blocks: number }) => number) =>
    addGauge(registry, { name, help, read: async () => bytesOf(resolve(dataDir), value) });
  disk("tributary_disk_free_bytes", "Free space of the disk that has DATA_DIR.", ({ bavail }) => bavail);
  disk("tributary_disk_size_bytes", "Size of the disk that has DATA_DIR.", ({ blocks }) => blocks);
  if (!tls) return;
  const expiresAtSeconds = new X509Certificate(tls.cert).validToDate.getTime() / 1000;
  addGauge(registry, {
    name: "tributary_tls_certificate_expiry_timestamp_seconds",
    help: "When the certificate of this process expires (TLS_CERT, as read at the start).",
    read: () => expiresAtSeconds,
  });
}

/** A process creates the folder with its first file; until then, the disk is that of the folder above it. */
async function bytesOf(folder: string, value: (blocks: { bavail: number; blocks: number }) => number): Promise<number> {
  try {
    const stats = await statfs(folder);
    return value(stats) * stats.bsize;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT" || dirname(folder) === folder) throw thrown;
    return bytesOf(dirname(folder), value);
  }
}
