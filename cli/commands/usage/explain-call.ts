import type { Context } from "../../context.ts";
import { format, valueAt } from "../../output/values.ts";

/** Prints one call from API key to ledger entry, from its usage row and its signed receipt. */
export async function explain(context: Context, [id = ""]: readonly string[]): Promise<void> {
  const path = `/api/gw/logs/${encodeURIComponent(id)}`;
  const { body } = await context.client.send({ method: "GET", path, auth: "user" });
  const log = valueAt(body, "log");
  const { body: signed } = await context.client.send({ method: "GET", path: `${path}/receipt`, auth: "user" });
  const document = { log, receipt: signed };
  context.print.answer(document, { kind: "sentence", text: () => describe(context, log, signed).trimEnd(), id: "log.id" });
}

function describe({ print }: Context, log: unknown, signed: unknown): string {
  const at = (name: string, as?: Parameters<typeof format>[1]) => format(valueAt(log, name), as);
  const line = (title: string, text: string) => `${print.paint("dim", title.padEnd(9))} ${text}\n`;
  const outcome = at("status") === "success" ? print.paint("green", "success") : print.paint("red", at("status"));
  const took = `${at("latencyMs")} ms total, ${at("firstTokenMs")} ms to first token, ${milliseconds(valueAt(log, "overheadUs"))} gateway overhead`;
  const fallback = valueAt(log, "fallbackFrom") ? `after ${at("fallbackFrom")} failed` : "no fallback";
  return [
    `${print.paint("bold", at("id"))}  ${at("endpoint")}${valueAt(log, "stream") === true ? ", streamed" : ""}\n`,
    line("status", `${outcome}, HTTP ${at("httpStatus")}${valueAt(log, "errorCode") ? `, ${at("errorCode")}` : ""}`),
    line("time", `${at("createdAt")} to ${at("completedAt")}: ${took}`),
    line("caller", `key ${at("apiKeyName")} (${at("maskedKey")}), team ${at("teamName")}, end user ${at("endUser")}`),
    line("model", `${at("model")}, provider ${at("provider")}, deployment ${at("deploymentId")}`),
    line("routing", `${at("attempts")} attempt(s), ${fallback}, ${valueAt(log, "cacheHit") === true ? "cache hit" : "no cache hit"}`),
    line(
      "usage",
      `${at("usage.total")} tokens, ${at("usage.source") === "provider" ? "reported by the provider" : "estimated by the gateway"}`,
    ),
    ...billLines(signed),
    line("cost", `${at("cost", "usd")} (${at("cost", "count")} nano-USD), price version ${at("priceVersion")}, rounded up once`),
    line("ledger", `entry ${at("ledgerSeq")}, hash ${format(valueAt(signed, "receipt.entryHash"))}`),
    line("receipt", `${format(valueAt(signed, "algorithm"))} signature, key ${format(valueAt(signed, "keyId"))}`),
  ].join("");
}

/** One line for every charge, as the API computes them. */
function billLines(signed: unknown): string[] {
  const lines = valueAt(signed, "lines");
  return (Array.isArray(lines) ? lines : []).map((each: unknown) => {
    const title = format(valueAt(each, "title")).padEnd(20);
    const amount = format(valueAt(each, "amount"), "count").padStart(9);
    return `${" ".repeat(10)}${title} ${amount} at ${format(valueAt(each, "price"), "price")} per million: $${format(valueAt(each, "costUsd"))}\n`;
  });
}

const milliseconds = (value: unknown): string => (typeof value === "bigint" ? `${(Number(value) / 1000).toFixed(2)} ms` : "-");
