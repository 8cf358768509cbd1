import { type DestinationStream, type LoggerOptions, pino } from "pino";

/** Logs one JSON object per line on stderr. Callers never pass a key, a password or a prompt; the redaction is a second safeguard. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const SECRET_FIELDS = ["key", "apiKey", "token", "password", "secret", "authorization", "masterKey"];

export function createLogger(service: string, level = "info", destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: { service, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "[redacted]" },
  };
  return pino(options, destination ?? pino.destination({ dest: 2, sync: true }));
}

export const silentLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
