/**
 * `make verify-receipt FILE=receipt.json KEYS=keys.json`: verifies the signature of a receipt offline. FILE is a saved response
 * of GET /api/gw/logs/{id}/receipt, KEYS the saved /.well-known/tributary-receipts.json (by default beside FILE).
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fromJson } from "../common/json.ts";
import { checkReceipt } from "../common/receipt.ts";

const [file, keysFile] = process.argv.slice(2);
if (!file) stop("usage: node scripts/verify-receipt.ts FILE [KEYS]");
const signed = read(file);
const keys = read(keysFile || join(dirname(file), "tributary-receipts.json"));
const check = checkReceipt(signed, keys);
if (!check.ok) stop(`NOT VALID: ${check.reason}`);
const { receipt } = signed as { receipt: Record<string, unknown> };
console.log(`valid, signed by ${check.keyId}`);
for (const name of ["callId", "organizationId", "model", "costUsd", "priceVersion", "ledgerSeq", "entryHash", "createdAt"]) {
  console.log(`  ${name.padEnd(16)}${receipt[name] ?? "none"}`);
}

function read(path: string): unknown {
  try {
    return fromJson(readFileSync(path, "utf8"));
  } catch (error) {
    return stop(`cannot read ${path}: ${(error as Error).message}`);
  }
}

function stop(message: string): never {
  console.error(message);
  process.exit(1);
}
