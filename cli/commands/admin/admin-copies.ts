import { open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { CliError, usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import { EXIT } from "../../exit-codes.ts";
import type { Io } from "../../io.ts";
import type { Options } from "../../operations/read-values.ts";
import { onAction, operationOf } from "../../operations/register.ts";
import type { View } from "../../output/printer.ts";
import { valueAt } from "../../output/values.ts";
import { runTool } from "../../tools/run-tool.ts";

/** A large store takes a while to copy before the first byte. */
const BACKUP_MS = 3_600_000;
const BACKUP_PATH = "/api/admin/backup";

const backupView: View = {
  kind: "sentence",
  text: (body) => `Wrote a backup of ${String(valueAt(body, "bytes"))} bytes to ${String(valueAt(body, "file"))}.`,
  id: "file",
};

const restoreView: View = {
  kind: "record",
  fields: [
    { title: "folder", at: "folder" },
    { title: "backup of", at: "createdAt", as: "time" },
    { title: "files", at: "files", as: "count" },
    { title: "bytes", at: "bytes", as: "count" },
    { title: "ledger valid", at: "ok", as: "yesno" },
    { title: "entries", at: "entries", as: "count" },
    { title: "accounts", at: "accounts", as: "count" },
    { title: "calls", at: "usageRows", as: "count" },
    { title: "sum (must be 0)", at: "sum", as: "count" },
    { title: "last entry", at: "lastSeq", as: "count" },
    { title: "hash", at: "hash" },
  ],
  id: "folder",
};

const promoteView: View = {
  kind: "record",
  fields: [
    { title: "records", at: "records", as: "count" },
    { title: "files", at: "blobs", as: "count" },
    { title: "ledgers valid and equal", at: "target.ok", as: "yesno" },
    ...(["source", "target"] as const).flatMap((side) => {
      const name = side === "source" ? "folder" : "database";
      return [
        { title: `${name}: entries`, at: `${side}.entries`, as: "count" as const },
        { title: `${name}: sum (must be 0)`, at: `${side}.sum`, as: "count" as const },
        { title: `${name}: last entry`, at: `${side}.lastSeq`, as: "count" as const },
        { title: `${name}: hash`, at: `${side}.hash` },
      ];
    }),
    { title: "seconds", at: "seconds", as: "count" },
    { title: "records/s", at: "recordsPerSecond", as: "count" },
  ],
  id: "target.hash",
};

const cancelView: View = {
  kind: "sentence",
  text: (body) => `Control planes may use ${String(valueAt(body, "folder"))} again.`,
  id: "folder",
};

export function registerAdminCopies(admin: Command, io: Io): void {
  const backup = admin
    .command("backup")
    .description(
      "Back up the embedded store while the platform runs, into one file of mode 0600. The file contains every secret of the platform",
    )
    .requiredOption("--out <file>", "file to write")
    .addHelpText("after", `\nPOST ${BACKUP_PATH}`);
  operationOf.set(backup, `POST ${BACKUP_PATH}`);
  onAction(backup, io, writeBackup);
  const restore = admin
    .command("restore")
    .description("Restore a backup into a new data folder on this machine. Checks every file and verifies the whole ledger")
    .requiredOption("--from <file>", "backup to restore")
    .requiredOption("--data-dir <folder>", "DATA_DIR to create; must not exist or be empty");
  onAction(restore, io, restoreBackup);
  const promote = admin
    .command("promote")
    .description(
      "Copy the embedded store of a platform that runs or stands still into an empty MongoDB database, stop the platform at the end, and prove both ledgers equal. May be run again after a kill",
    )
    .requiredOption("--from <folder>", "DATA_DIR of the platform")
    .option("--to <uri>", "address of the replica set, mongodb://...")
    .option("--database <name>", "database to create (MONGODB_DATABASE, else tributary)")
    .option("--cancel", "take back a folder that was handed over, without what was written to MongoDB since");
  onAction(promote, io, promoteFolder);
}

async function writeBackup(context: Context, _words: readonly string[], options: Options): Promise<void> {
  const out = resolve(String(options["out"]));
  const response = await context.client.open({
    method: "POST",
    path: BACKUP_PATH,
    auth: "either",
    untimed: true,
    timeoutMs: BACKUP_MS,
  });
  const bytes = await writeWhole(response, out);
  context.print.answer({ file: out, bytes: BigInt(bytes) }, backupView);
}

/** The file gets its name when its content is complete and on disk. */
async function writeWhole(response: Response, out: string): Promise<number> {
  const partial = `${out}.partial`;
  const file = await open(partial, "w", 0o600).catch((error: Error) => {
    throw usageError(`${out} cannot be written: ${error.message}`);
  });
  try {
    let bytes = 0;
    // The mode above counts for new files only.
    await file.chmod(0o600);
    for await (const piece of response.body ?? []) {
      bytes += piece.byteLength;
      await file.writeFile(piece);
    }
    await file.sync();
    await file.close();
    await rename(partial, out);
    return bytes;
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw new CliError(EXIT.server, {
      error: `The backup was not completed: ${(error as Error).message}. No file was written.`,
      code: "BACKUP_BROKEN",
      hint: "Look for the reason in the log of the control plane, such as a full disk in its DATA_DIR, and try again.",
    });
  }
}

async function restoreBackup(context: Context, _words: readonly string[], options: Options): Promise<void> {
  const given = { from: resolve(String(options["from"])), "data-dir": resolve(String(options["dataDir"])) };
  const restored = await runTool(context, "restore", { options: given });
  context.print.answer(restored, restoreView);
  if (valueAt(restored, "hasSecretFile") !== true) {
    context.print.note("The root secret was a setting and is not in the backup: start the platform with the same SECRET_KEY.");
  }
}

async function promoteFolder(context: Context, _words: readonly string[], options: Options): Promise<void> {
  const [from, uri] = [resolve(String(options["from"])), String(options["to"] ?? "")];
  if (options["cancel"] === true) return cancelPromotion(context, from);
  if (!/^mongodb(\+srv)?:\/\//.test(uri)) throw usageError("--to must begin with mongodb:// or mongodb+srv://.");
  const database = String(options["database"] ?? (context.io.env["MONGODB_DATABASE"] || "tributary"));
  const began = context.io.nowMs();
  const promoted = await runTool(context, "promote", {
    options: { from, database },
    env: { MONGODB_URI: uri },
    onProgress: progressLine(context),
  });
  const tookMs = Math.max(context.io.nowMs() - began, 1);
  const speed = {
    seconds: Math.round(tookMs / 1000),
    recordsPerSecond: Math.round((Number(valueAt(promoted, "records")) * 1000) / tookMs),
  };
  context.print.answer({ ...(promoted as object), ...speed }, promoteView);
  const secret = valueAt(promoted, "secretFile") === true ? `the content of ${from}/secret.key` : "what it was";
  context.print.note(
    `Start control planes with this MONGODB_URI and SECRET_KEY set to ${secret}. No control plane starts on the folder any more.`,
  );
}

async function cancelPromotion(context: Context, from: string): Promise<void> {
  const canceled = await runTool(context, "unpromote", { options: { from } });
  context.print.answer(canceled, cancelView);
  if (valueAt(canceled, "database") !== null) {
    context.print.note(`Stop control planes that use the database ${String(valueAt(canceled, "database"))}, and drop it.`);
  }
}

/** A note for each step and each collection that is begun. */
function progressLine(context: Context): (progress: unknown) => void {
  let current: unknown;
  return (progress) => {
    const note = valueAt(progress, "note");
    if (note !== undefined) return context.print.note(String(note));
    const collection = valueAt(progress, "collection");
    if (collection !== current) context.print.note(`copying ${String(collection)}`);
    current = collection;
  };
}
