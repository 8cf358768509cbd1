import type { MessageObject, RunObject, SearchCall } from "../../schemas/stored/assistant-answers.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { TeamFiles } from "../files/team-files.ts";
import { search } from "./search/bm25.ts";
import { type Passage, passagesOf } from "./search/passages.ts";

/** The files that a run may search, as a tool that the gateway itself executes. */
export interface FileSearch {
  /** The name of the tool in the model call; differs from all functions of the caller. */
  readonly toolName: string;
  readonly tool: Fields;
  /** Searches; returns the results for the run step and as text for the model. */
  run(callId: string, argumentsText: string): { call: SearchCall; output: string };
}

const RESULTS_DEFAULT = 20;
const TEXT_BYTES_MAX = 16 * 1024 * 1024;

/** Undefined if the run does not have the tool, or if no files are attached to its thread. */
export async function openFileSearch(
  run: RunObject,
  { messages, files }: { messages: readonly MessageObject[]; files: TeamFiles },
): Promise<FileSearch | undefined> {
  const wanted = run.tools.find((tool) => tool.type === "file_search");
  const fileIds = [...new Set(messages.flatMap(({ attachments }) => attachments.filter(isForSearch).map(({ file_id }) => file_id)))];
  if (wanted?.type !== "file_search" || fileIds.length === 0) return undefined;
  const { passages, names } = await readPassages(fileIds, files);
  const toolName = freeName(run);
  const limit = wanted.file_search?.max_num_results ?? RESULTS_DEFAULT;
  return {
    toolName,
    tool: searchTool(toolName, names),
    run: (callId, argumentsText) => {
      const found = search(passages, { query: queryOf(argumentsText), limit });
      const results = found.map(({ passage, score }) => ({
        file_id: passage.fileId,
        file_name: passage.fileName,
        score,
        content: [{ type: "text" as const, text: passage.text }],
      }));
      const output = results.map(({ file_name: name, content }, index) => `[${index + 1}] ${name}\n${content[0]?.text}`).join("\n\n");
      return {
        call: { id: callId, type: "file_search", file_search: { ranking_options: { ranker: "bm25", score_threshold: 0 }, results } },
        output: output === "" ? "Nothing was found." : output,
      };
    },
  };
}

function isForSearch({ tools }: MessageObject["attachments"][number]): boolean {
  return tools.some(({ type }) => type === "file_search");
}

async function readPassages(fileIds: readonly string[], files: TeamFiles): Promise<{ passages: Passage[]; names: string[] }> {
  const passages: Passage[] = [];
  const names: string[] = [];
  let bytesLeft = TEXT_BYTES_MAX;
  for (const fileId of fileIds) {
    const file = await files.readText(fileId);
    if (!file) continue;
    bytesLeft -= file.text.length;
    if (bytesLeft < 0) break;
    names.push(file.name);
    passages.push(...passagesOf({ fileId, fileName: file.name, text: file.text }));
  }
  return { passages, names };
}

function freeName({ tools }: RunObject): string {
  const taken = new Set(tools.map((tool) => (tool.type === "function" ? tool.function.name : "")));
  let name = "file_search";
  while (taken.has(name)) name = `${name}_`;
  return name;
}

function searchTool(name: string, fileNames: readonly string[]): Fields {
  const files = fileNames.length > 0 ? fileNames.join(", ").slice(0, 2000) : "none of them has text";
  return {
    type: "function",
    function: {
      name,
      description: `Searches the files attached to this conversation (${files}) and returns the passages that match best.`,
      parameters: {
        type: "object",
        properties: { query: { type: "string", description: "What to look for." } },
        required: ["query"],
      },
    },
  };
}

/** A model may write arguments that are not JSON: then the whole text is the query. */
function queryOf(argumentsText: string): string {
  try {
    const { query } = JSON.parse(argumentsText) as { query?: unknown };
    return typeof query === "string" ? query : argumentsText;
  } catch {
    return argumentsText;
  }
}
