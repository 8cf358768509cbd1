import { type DestinationStream, type LoggerOptions, pino } from "pino";
import { REDACTED, redactLine } from "./log-redaction.ts";

/** Logs one JSON object per line on stderr. Callers never pass a key, a password or a prompt; the redaction is a second safeguard. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const SECRET_FIELDS = ["key", "apiKey", "token", "password", "secret", "authorization", "masterKey"];

/** `redact` is the last step of every line; the mailer's own logger shows links, which an operator without a mail server needs. */
export function createLogger(service: string, level = "info", destination?: DestinationStream, redact = redactLine): Logger {
  const options: LoggerOptions = {
    level,
    formatters: { level: (name) => ({ level: name }) },
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: REDACTED },
  };
  const output = destination ?? pino.destination({ dest: 2, sync: true });
  return pino(options, { write: (line: string) => void output.write(redact(line).replace(INVISIBLE, escaped)) });
}

/** JSON escapes neither line ends of Unicode nor the control characters of terminals beyond ASCII, such as the 8-bit CSI. */
const INVISIBLE = /[\u007f-\u009f\u2028\u2029]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export const silentLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
