import { type Server, ServerCredentials } from "@grpc/grpc-js";
import { systemClock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { openChannel } from "../../common/grpc/client.ts";
import { addService, createGrpcServer, listen, type ServiceHandlers } from "../../common/grpc/server.ts";
import { silentLogger } from "../../common/logger.ts";
import { slotOf } from "../../common/slots.ts";
import { AccessServiceService, type SettleRequest } from "../../proto/gen/tributary/access/v1/access.ts";
import { LedgerServiceService } from "../../proto/gen/tributary/ledger/v1/ledger.ts";
import { NotOwner } from "../domain/not-owner.ts";
import { requireOwner } from "../slots/require-owner.ts";
import { allSlots, type Slots } from "../slots/slots.ts";
import { createForwarder, type Forwarder } from "./forward.ts";

const COUNT = 2;
/** One organization of each slot. */
const ORGANIZATIONS = [0, 1].map((slot) => {
  const names = Array.from({ length: 20 }, (_, n) => `org_${n}`);
  return names.find((name) => slotOf(name, COUNT) === slot) ?? "";
}) as [string, string];

interface TestPlane {
  readonly address: string;
  readonly seen: Record<string, string>[];
  readonly settled: string[][];
  readonly ask: Forwarder["ask"];
  close(): void;
}

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

/** A plane that owns the slots that `owners` gives to its place. */
async function openPlane(place: number, owners: readonly number[], addresses: string[]): Promise<TestPlane> {
  const seen: Record<string, string>[] = [];
  const settled: string[][] = [];
  const planeOf = (index: number) => ({ id: `plane-${index}`, address: addresses[index] ?? "" });
  const slots: Slots = {
    ...allSlots({ count: COUNT, self: planeOf(place) }),
    isOwned: (slot) => owners[slot] === place,
    ownerOf: (slot) => {
      const owner = owners[slot];
      return owner === undefined || owner < 0 ? undefined : { ...planeOf(owner), epoch: 1 };
    },
  };
  const { elsewhere, ask, close } = createForwarder({ slots, clock: systemClock, open: openChannel });
  const server: Server = createGrpcServer();
  const ledger = {
    getBalance: async (_request, context) => {
      seen.push({ ...context.metadata });
      const organizationId = context.metadata["organization"] ?? "";
      requireOwner({ slots }, organizationId);
      if (organizationId === "") throw new AppError("NOT_FOUND", "There is no such organization.");
      context.setHeader("idempotent-replayed", `by ${place}`);
      return { balance: BigInt(place), organizationId, status: "active" };
    },
  } as Partial<ServiceHandlers<typeof LedgerServiceService>> as ServiceHandlers<typeof LedgerServiceService>;
  const access = {
    settle: async ({ returns }: SettleRequest) => {
      const ids = returns.map(({ organizationId }) => organizationId);
      for (const id of ids) requireOwner({ slots }, id);
      settled.push(ids);
      return { settled: BigInt(ids.length), repeatedBefore: 0n };
    },
  } as Partial<ServiceHandlers<typeof AccessServiceService>> as ServiceHandlers<typeof AccessServiceService>;
  addService(server, LedgerServiceService, ledger, { logger: silentLogger, elsewhere });
  addService(server, AccessServiceService, access, { logger: silentLogger, elsewhere });
  const port = await listen(server, "127.0.0.1:0", ServerCredentials.createInsecure());
  addresses[place] = `127.0.0.1:${port}`;
  const plane = {
    address: `127.0.0.1:${port}`,
    seen,
    settled,
    ask,
    close: () => {
      close();
      server.forceShutdown();
    },
  };
  opened.push(plane);
  return plane;
}

function clientOf(address: string) {
  const channel = openChannel(address);
  opened.push(channel);
  return { ledger: channel.service(LedgerServiceService), access: channel.service(AccessServiceService) };
}

const readBalance = (address: string, organization: string, onHeader: (header: Readonly<Record<string, string>>) => void = () => {}) =>
  clientOf(address).ledger.getBalance({}, { deadlineMs: 2_000, metadata: { organization, authorization: "Bearer t" }, onHeader });

test("a call for another plane's slot is answered by its owner, with the caller's metadata and the owner's header", async () => {
  const addresses: string[] = [];
  const owners = [0, 1];
  const first = await openPlane(0, owners, addresses);
  const second = await openPlane(1, owners, addresses);
  const headers: Readonly<Record<string, string>>[] = [];
  expect((await readBalance(first.address, ORGANIZATIONS[1], (header) => headers.push(header))).balance).toBe(1n);
  expect(second.seen[0]).toMatchObject({ authorization: "Bearer t", "x-forwarded-peer": "" });
  expect(headers[0]).toMatchObject({ "idempotent-replayed": "by 1" });
  expect((await readBalance(first.address, ORGANIZATIONS[0])).balance).toBe(0n);
  expect(second.seen).toHaveLength(1);
});

test("a slot without an owner is waited for, within the caller's time", async () => {
  const addresses: string[] = [];
  const owners = [0, -1];
  const first = await openPlane(0, owners, addresses);
  await openPlane(1, owners, addresses);
  const answer = readBalance(first.address, ORGANIZATIONS[1]);
  while (first.seen.length === 0) await systemClock.sleep(5);
  owners[1] = 1;
  expect((await answer).balance).toBe(1n);
  owners[1] = -1;
  const late = clientOf(first.address).ledger.getBalance({}, { deadlineMs: 400, metadata: { organization: ORGANIZATIONS[1] } });
  // Which of the two ends of the call is faster does not matter.
  await expect(late).rejects.toMatchObject({ code: expect.stringMatching(/^(UNAVAILABLE|DB_TIMEOUT)$/) });
});

test("a call makes one hop: two planes that take each other for the owner do not send it in circles", async () => {
  const addresses: string[] = [];
  const first = await openPlane(0, [1, 1], addresses);
  const second = await openPlane(1, [0, 0], addresses);
  const late = clientOf(first.address).ledger.getBalance({}, { deadlineMs: 400, metadata: { organization: ORGANIZATIONS[1] } });
  // Which of the two ends of the call is faster does not matter.
  await expect(late).rejects.toMatchObject({ code: expect.stringMatching(/^(UNAVAILABLE|DB_TIMEOUT)$/) });
  expect(first.seen).toHaveLength(1);
  expect(second.seen.length).toBeGreaterThan(0);
});

test("a report about organizations of several owners is divided, and its answer is the sum", async () => {
  const addresses: string[] = [];
  const owners = [0, 1];
  const first = await openPlane(0, owners, addresses);
  const second = await openPlane(1, owners, addresses);
  const [zero, one] = ORGANIZATIONS;
  const returns = [zero, one, one].map((organizationId) => ({ organizationId, generation: 1n, released: 0n }));
  const { settle } = clientOf(first.address).access;
  const answer = await settle({ settlements: [], edgeId: "edge-1", returns, endedEdges: [] }, { deadlineMs: 2_000 });
  expect(answer).toEqual({ settled: 3n, repeatedBefore: 0n });
  expect(first.settled).toEqual([[zero]]);
  expect(second.settled).toEqual([[one, one]]);
});

test("a plane asks the owner of a slot by itself, answers if it is the owner, and waits while there is none", async () => {
  const addresses: string[] = [];
  const owners = [0, -1];
  const first = await openPlane(0, owners, addresses);
  const second = await openPlane(1, owners, addresses);
  const returns = [{ organizationId: ORGANIZATIONS[1], generation: 1n, released: 0n }];
  const request = { settlements: [], edgeId: "edge-1", returns, endedEdges: [] };
  const call = { method: AccessServiceService.settle, request, here: async () => "here" };
  expect(await first.ask(0, call)).toBe("here");
  const answer = first.ask(1, call);
  owners[1] = 1;
  expect(await answer).toEqual({ settled: 1n, repeatedBefore: 0n });
  expect(second.settled).toEqual([[ORGANIZATIONS[1]]]);
});

test("the error that users see names no slot", () => {
  expect(new NotOwner(17)).toMatchObject({ code: "UNAVAILABLE", details: [], retryAfterSeconds: 1 });
});
