import { type AddressInfo, createServer, type Socket } from "node:net";
import { ServerCredentials } from "@grpc/grpc-js";
import { ErrorCode } from "../../proto/gen/tributary/errors/v1/errors.ts";
import { LedgerServiceService } from "../../proto/gen/tributary/ledger/v1/ledger.ts";
import { AppError, ERROR_CODES } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import { openChannel } from "./client.ts";
import { addService, createGrpcServer, listen, type ServiceHandlers, shutDown } from "./server.ts";

type Handlers = ServiceHandlers<typeof LedgerServiceService>;

const refuse = async () => {
  throw new AppError("QUOTA_EXCEEDED", "public text", {
    internal: "hidden text",
    details: [{ path: "body.x", message: "bad" }],
    param: "model",
    retryAfterSeconds: 2,
  });
};
const crash = async () => {
  throw new Error("hidden text");
};

async function withService<T>(
  getBalance: Handlers["getBalance"],
  work: (channel: ReturnType<typeof openChannel>) => Promise<T>,
): Promise<T> {
  const server = createGrpcServer();
  const handlers = {
    getBalance,
    getQuota: refuse,
    createPurchase: crash,
    listPurchases: refuse,
    listEntries: refuse,
    getReceipt: refuse,
    receivePaymentEvent: refuse,
    grantCredits: refuse,
    verifyLedger: refuse,
  };
  addService(server, LedgerServiceService, handlers as Handlers, { logger: silentLogger });
  const port = await listen(server, "127.0.0.1:0", ServerCredentials.createInsecure());
  const channel = openChannel(`127.0.0.1:${port}`);
  try {
    return await work(channel);
  } finally {
    channel.close();
    await shutDown(server, 1000);
  }
}

test("the error codes of the proto and of the code list are the same, in the same order", () => {
  const names = Object.entries(ErrorCode)
    .filter(([, value]) => typeof value === "number" && value > 0)
    .sort(([, left], [, right]) => Number(left) - Number(right))
    .map(([name]) => name.replace("ERROR_CODE_", ""));
  expect(names).toEqual([...ERROR_CODES]);
});

test("money beyond 2^53 crosses a real socket unharmed, and metadata both ways", () =>
  withService(
    async (_request, context) => {
      context.setHeader("idempotent-replayed", context.metadata["x-test"] ?? "");
      return { balance: -9007199254740993n, organizationId: "org", status: "blocked" };
    },
    async (channel) => {
      const seen: string[] = [];
      const ledger = channel.service(LedgerServiceService);
      const onHeader = (header: Readonly<Record<string, string>>) => void seen.push(header["idempotent-replayed"] ?? "");
      const answer = await ledger.getBalance({}, { deadlineMs: 2000, metadata: { "x-test": "yes", none: undefined }, onHeader });
      expect([answer.balance, seen]).toEqual([-9007199254740993n, ["yes"]]);
    },
  ));

test("an error arrives with its code, public text and details; what is internal stays behind", () =>
  withService(refuse as never, async (channel) => {
    const ledger = channel.service(LedgerServiceService);
    const coded = await ledger.getQuota({}, { deadlineMs: 2000 }).catch((error: unknown) => error);
    expect(coded).toMatchObject({
      code: "QUOTA_EXCEEDED",
      message: "public text",
      details: [{ path: "body.x", message: "bad" }],
      param: "model",
      retryAfterSeconds: 2,
    });
    expect((coded as AppError).internal).toBeUndefined();
    const crashed = await ledger.createPurchase({ amount: 1n, method: "test" }, { deadlineMs: 2000 }).catch((error: unknown) => error);
    expect(crashed).toMatchObject({ code: "SERVER_ERROR" });
    expect(JSON.stringify(crashed)).not.toContain("hidden");
  }));

test("a call without a deadline, or with one beyond an hour, is refused before it is sent", async () => {
  const channel = openChannel("127.0.0.1:9");
  const ledger = channel.service(LedgerServiceService);
  for (const deadlineMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 3_600_001]) {
    await expect(ledger.getBalance({}, { deadlineMs })).rejects.toThrow("deadline");
  }
  channel.close();
});

test("a peer that accepts and stays mute costs a call its deadline and no more", async () => {
  const sockets: Socket[] = [];
  const mute = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  const channel = openChannel(`127.0.0.1:${(mute.address() as AddressInfo).port}`);
  const startedMs = performance.now();
  await expect(channel.service(LedgerServiceService).getBalance({}, { deadlineMs: 300 })).rejects.toMatchObject({ code: "DB_TIMEOUT" });
  expect(performance.now() - startedMs).toBeLessThan(2000);
  channel.close();
  for (const socket of sockets) socket.destroy();
  mute.close();
});

test("a channel to several control planes moves on when its own is gone, and back again", async () => {
  const open = async (balance: bigint, address: string) => {
    const server = createGrpcServer();
    const handlers = { getBalance: async () => ({ balance }) };
    addService(server, LedgerServiceService, handlers as unknown as Handlers, { logger: silentLogger });
    return { server, port: await listen(server, address, ServerCredentials.createInsecure()) };
  };
  const [first, second] = [await open(1n, "127.0.0.1:0"), await open(2n, "127.0.0.1:0")];
  const addresses = `127.0.0.1:${first.port},127.0.0.1:${second.port}`;
  const beginAt = (place: number) => openChannel(addresses, {}, { bytes: (count) => Buffer.alloc(count, place + 1) });
  const other = beginAt(1);
  expect(await other.service(LedgerServiceService).getBalance({}, { deadlineMs: 2000 })).toMatchObject({ balance: 2n });
  other.close();
  const channel = beginAt(0);
  const { getBalance } = channel.service(LedgerServiceService);
  const answeredBy = async (wanted: bigint) => {
    for (;;) {
      const answer = await getBalance({}, { deadlineMs: 2000 }).catch((error: unknown) => {
        expect(error).toMatchObject({ code: expect.stringMatching(/UNAVAILABLE|DB_TIMEOUT/) });
      });
      if (answer?.balance === wanted) return;
    }
  };
  await answeredBy(1n);
  await shutDown(first.server, 0);
  await answeredBy(2n);
  const again = await open(1n, `127.0.0.1:${first.port}`);
  await shutDown(second.server, 0);
  await answeredBy(1n);
  channel.close();
  await shutDown(again.server, 0);
});

test("a port without a server is UNAVAILABLE; a caller that disconnects ends the call", async () => {
  const gone = openChannel("127.0.0.1:9");
  await expect(gone.service(LedgerServiceService).getBalance({}, { deadlineMs: 2000 })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  gone.close();
  let aborted = false;
  await withService(
    (_request, context) =>
      new Promise((_resolve, reject) =>
        context.signal.addEventListener("abort", () => {
          aborted = true;
          reject(new Error("left"));
        }),
      ),
    async (channel) => {
      const abort = new AbortController();
      const call = channel.service(LedgerServiceService).getBalance({}, { deadlineMs: 5000, signal: abort.signal });
      setTimeout(() => abort.abort(), 50);
      await expect(call).rejects.toMatchObject({ code: "UNAVAILABLE" });
      for (let turn = 0; turn < 50 && !aborted; turn++) await new Promise((resolve) => setTimeout(resolve, 10));
    },
  );
  expect(aborted).toBe(true);
});
