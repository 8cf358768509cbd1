/** An MCP server of an organization, whose tools its API keys can call. */
export interface McpServerRecord {
  id: string;
  organizationId: string;
  /** Unique in the organization. */
  name: string;
  url: string;
  headerNames: readonly string[];
  /** JSON: the headers of every request to it, by name. */
  sealedHeaders: string;
  /** Absent: all its tools. */
  allowedTools?: readonly string[];
  /** Nano-USD. */
  pricePerCall: bigint;
  /** Absent: for all teams of the organization. */
  teamId?: string;
  createdBy: number;
  createdAt: number;
}
