import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { type Clock, pause } from "../../../../common/clock.ts";
import { orElse } from "../../../../common/ignore.ts";
import type { Logger } from "../../../../common/logger.ts";
import { TENANT_HEADER } from "../../../http/tenant.ts";
import type { BlobCopies, CopiedBlob, WantedBlob } from "./blob-copies.ts";
import { COORDINATOR_HEADER } from "./copy-routes.ts";

export interface PeerCopiesOptions {
  /** Addresses of the other coordinators. */
  readonly peers: readonly string[];
  /** The name of this process, by which an address of its own is recognized: it is no other place. */
  readonly self: string;
  /** How many coordinators have to have a blob, with this one. */
  readonly copies: number;
  /** A peer that has not answered for this time counts as lost, and copies are not waited for any longer. */
  readonly lostMs: number;
  readonly token: string | undefined;
  /** Presents this coordinator's certificate, if it has one. */
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly logger: Logger;
}

const RETRY_MS = 250;
/** Lost peers are tried again after this time, so that they do not delay every update. */
const LOST_RETRY_MS = 2_000;
const ANSWER_MS = 5_000;

/**
 * Copies in the folders of other coordinators, by hash. A blob counts when enough coordinators have it. Peers that are lost are not waited
 * for, so that the last coordinator goes on alone; what it makes until they are back is in its folder only.
 */
export function createPeerCopies({ peers, self, copies, lostMs, clock, logger, ...options }: PeerCopiesOptions): BlobCopies {
  const send = createSend({ clock, ...options });
  let all = peers.map((url) => createPeer(url, { lostMs, clock, logger }));
  const offer = async (peer: Peer, blob: CopiedBlob, signal: AbortSignal | undefined): Promise<boolean> => {
    try {
      const found = await send(peer.url, blob, { method: "HEAD", signal });
      if (found.headers.get(COORDINATOR_HEADER) === self) return leaveOut(peer);
      if (!found.ok) await upload(peer.url, blob, signal);
      peer.answered();
      return true;
    } catch (thrown) {
      signal?.throwIfAborted();
      peer.failed(thrown);
      return false;
    }
  };
  const leaveOut = (peer: Peer): false => {
    logger.warn({ peer: peer.url }, "COORDINATOR_PEERS names this coordinator itself; the address is left out");
    all = all.filter((other) => other !== peer);
    return false;
  };
  const upload = async (url: string, blob: CopiedBlob, signal: AbortSignal | undefined): Promise<void> => {
    const answer = await send(url, blob, { method: "PUT", file: blob, signal });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`it answered ${answer.status}: ${text.slice(0, 300)}`);
  };
  return {
    put: async (blob, signal) => {
      const having = new Set<Peer>();
      const isEnough = () => having.size >= Math.min(copies - 1, all.length);
      const others = () => all.filter((peer) => !having.has(peer));
      for (;;) {
        for (const peer of others()) if (!isEnough() && peer.isDue() && (await offer(peer, blob, signal))) having.add(peer);
        if (isEnough() || others().every((peer) => peer.isLost())) return;
        await pause(clock, RETRY_MS, signal);
        signal?.throwIfAborted();
      }
    },
    open: async function* (wanted) {
      for (const { url } of all) {
        const answer = await orElse(send(url, wanted, { method: "GET" }), undefined, "another coordinator may have it");
        if (answer?.ok && answer.body) yield Readable.fromWeb(answer.body);
        else await answer?.body?.cancel();
      }
    },
    // Peers have copies of what federations made, and uploads as such; they sweep them when nothing refers to them.
    drop: async () => false,
  };
}

interface Peer {
  readonly url: string;
  answered(): void;
  failed(thrown: unknown): void;
  /** Whether it is time to try it. */
  isDue(): boolean;
  isLost(): boolean;
}

function createPeer(url: string, { lostMs, clock, logger }: Pick<PeerCopiesOptions, "lostMs" | "clock" | "logger">): Peer {
  let failingSinceMs: number | undefined;
  let dueMs = 0;
  let isReported = false;
  const isLost = () => failingSinceMs !== undefined && clock.monotonicMs() - failingSinceMs >= lostMs;
  return {
    url,
    isLost,
    isDue: () => clock.monotonicMs() >= dueMs,
    answered: () => {
      if (isReported) logger.info({ peer: url }, "a coordinator takes copies of blobs again");
      failingSinceMs = undefined;
      isReported = false;
      dueMs = 0;
    },
    failed: (thrown) => {
      failingSinceMs ??= clock.monotonicMs();
      if (!isLost()) return;
      dueMs = clock.monotonicMs() + LOST_RETRY_MS;
      if (!isReported) logger.warn({ peer: url, error: String(thrown) }, "a coordinator is lost: blobs have fewer copies until it is back");
      isReported = true;
    },
  };
}

interface PeerCall {
  readonly method: "GET" | "HEAD" | "PUT";
  readonly file?: Pick<CopiedBlob, "path" | "bytes">;
  readonly signal?: AbortSignal | undefined;
}

/** The time for the answer's headers is short, that for the bytes is not limited. */
function createSend({ token, fetch: request, clock }: Pick<PeerCopiesOptions, "token" | "fetch" | "clock">) {
  return async (url: string, { sha256, tenant }: WantedBlob, { method, file, signal }: PeerCall): Promise<Response> => {
    const late = new AbortController();
    const cancel = file ? () => {} : clock.after(ANSWER_MS, () => late.abort(new Error(`it did not answer within ${ANSWER_MS} ms`)));
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(tenant === "" ? {} : { [TENANT_HEADER]: tenant }),
      ...(file ? { "content-length": String(file.bytes) } : {}),
    };
    const body = file ? { body: createReadStream(file.path), duplex: "half" } : {};
    try {
      const signals = AbortSignal.any([late.signal, ...(signal ? [signal] : [])]);
      return await request(`${url}/v1/copies/${sha256}`, { method, headers, redirect: "error", ...body, signal: signals } as RequestInit);
    } finally {
      cancel();
    }
  };
}
