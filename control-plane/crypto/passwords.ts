import { argon2, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { AppError } from "../../common/errors.ts";
import type { Random } from "../../common/random.ts";

/** Hashes and checks passwords: argon2id on libuv's worker threads, a bounded number at once. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Without a stored hash it does the same work and returns false, so that timing does not reveal whether a user exists. */
  verify(password: string, stored: string | undefined): Promise<boolean>;
}

const hashArgon2 = promisify(argon2);

// OWASP's floor for argon2id: 19 MiB, two passes, one lane.
const COST = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const AT_ONCE_MAX = 8;
const WAITING_MAX = 256;

export function createPasswords(random: Random): Passwords {
  const gate = createGate(AT_ONCE_MAX, WAITING_MAX);
  const digest = (password: string, salt: Buffer) =>
    gate(() => hashArgon2("argon2id", { message: password.normalize("NFKC"), nonce: salt, tagLength: HASH_BYTES, ...COST }));
  const dummy = { salt: random.bytes(SALT_BYTES), hash: random.bytes(HASH_BYTES) };
  return {
    async hash(password) {
      const salt = random.bytes(SALT_BYTES);
      return toPhc(salt, await digest(password, salt));
    },
    async verify(password, stored) {
      const parsed = stored === undefined ? dummy : fromPhc(stored);
      const matches = timingSafeEqual(await digest(password, parsed.salt), parsed.hash);
      return matches && stored !== undefined;
    },
  };
}

function toPhc(salt: Buffer, hash: Buffer): string {
  const encode = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${encode(salt)}$${encode(hash)}`;
}

function fromPhc(text: string): { salt: Buffer; hash: Buffer } {
  const [, , , , salt, hash] = text.split("$");
  if (!salt || !hash) throw new Error("a stored password hash is not in PHC form");
  return { salt: Buffer.from(salt, "base64"), hash: Buffer.from(hash, "base64") };
}

/** Runs `atOnce` jobs, queues `waitingMax` and refuses the rest, so that a flood of log-ins cannot take the machine. */
function createGate(atOnce: number, waitingMax: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= waitingMax) {
        throw new AppError("LOGIN_THROTTLED", "Too many log-ins at once. Try again in a moment.", { retryAfterSeconds: 2 });
      }
      await new Promise<void>((resolve) => void waiting.push(resolve));
    }
    running++;
    try {
      return await work();
    } finally {
      running--;
      waiting.shift()?.();
    }
  };
}
