import { z } from "zod";
import { id, nanoAmount, plainText } from "../fields.ts";
import { listOf, money } from "../records.ts";

const URL_LENGTH_MAX = 2048;
const TOOLS_MAX = 200;
const HEADER_LENGTH_MAX = 4096;
/** 1,000 USD. */
const PRICE_MAX = 1_000_000_000_000;

export const createMcpServerBody = z.object({
  /** Unique in the organization. Its tools are called `name__tool`. */
  name: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "must have up to 32 of a-z, 0-9 and -, and begin with a letter"),
  url: z.string().trim().min(1, "must not be empty").max(URL_LENGTH_MAX, `must have at most ${URL_LENGTH_MAX} characters`),
  /** Sent with every request to the server, such as its credentials. Values are sealed, and never returned. */
  headers: z.record(plainText(64), plainText(HEADER_LENGTH_MAX)).nullish(),
  /** Absent: all tools of the server. */
  allowedTools: z.array(plainText(128)).max(TOOLS_MAX).nullish(),
  /** Nano-USD; absent: 0. */
  pricePerCall: nanoAmount.max(PRICE_MAX, "must be at most 1,000 USD").nullish(),
  /** Absent: for all teams of the organization. */
  team_id: id.nullish(),
});

const mcpServerRecord = z
  .object({
    id: z.string(),
    organizationId: z.string(),
    name: z.string(),
    url: z.string(),
    /** Names only: values are never returned. */
    headerNames: z.array(z.string()),
    allowedTools: z.array(z.string()).nullable(),
    ...money("pricePerCall"),
    team_id: z.string().nullable(),
    createdBy: z.bigint(),
    createdAt: z.date(),
  })
  .meta({ id: "McpServer" });

export type McpServerRecord = z.infer<typeof mcpServerRecord>;

export const listMcpServersAnswer = listOf(mcpServerRecord);
export const mcpServerAnswer = z.object({ server: mcpServerRecord });
export const deletedMcpServerAnswer = z.object({ deleted: z.literal(true), id: z.string() });
