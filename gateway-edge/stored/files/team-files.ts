import type { RecordStore } from "../records/records.ts";
import { imageType, isText } from "./media-type.ts";

/** Reads a team's files for runs. */
export interface TeamFiles {
  /** Undefined if the file does not exist, belongs to another team, or is not text. */
  readText(fileId: string): Promise<{ name: string; text: string } | undefined>;
  /** An image as a data URL, which every provider takes. */
  readImage(fileId: string): Promise<string | undefined>;
  exists(fileId: string): Promise<boolean>;
}

const TEXT_BYTES_MAX = 4 * 1024 * 1024;
const IMAGE_BYTES_MAX = 20 * 1024 * 1024;

export function teamFiles(records: RecordStore, teamId: string): TeamFiles {
  const find = (fileId: string) => records.get<{ filename?: string }>(teamId, "file", fileId);

  async function read(fileId: string, bytesMax: number): Promise<{ name: string; bytes: Buffer } | undefined> {
    const record = await find(fileId);
    const content = record && (await records.getContent(teamId, fileId));
    if (!content) return undefined;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of content) {
      size += chunk.length;
      if (size > bytesMax) return undefined;
      chunks.push(chunk);
    }
    return { name: record.body.filename ?? fileId, bytes: Buffer.concat(chunks) };
  }

  return {
    exists: async (fileId) => (await find(fileId)) !== undefined,
    readText: async (fileId) => {
      const file = await read(fileId, TEXT_BYTES_MAX);
      if (!file || !isText(file.bytes)) return undefined;
      return { name: file.name, text: file.bytes.toString("utf8") };
    },
    readImage: async (fileId) => {
      const file = await read(fileId, IMAGE_BYTES_MAX);
      const type = file && imageType(file.bytes);
      return type && `data:${type};base64,${file.bytes.toString("base64")}`;
    },
  };
}
