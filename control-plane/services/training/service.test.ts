import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const training = () => trainingHandlers(platform.deps);
const JOINING = { url: "", join: true, dataset: "" };
const create = (who: Who, changes: { teamId?: string; settings?: string; participants?: (typeof JOINING)[] } = {}) =>
  training().createFederation(
    { name: "f", teamId: platform.team.id, settings: "{}", participants: [JOINING], budgetNanoUsd: 0n, ...changes },
    platform.as(who),
  );
const idOf = async () => (await create("owner")).federation?.id ?? "";
const control = (who: Who, id: string, action: string) => training().controlFederation({ id, action }, platform.as(who));

const NO_ACCESS = { anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", colleague: "NOT_FOUND", stranger: "NOT_FOUND" };
const MANAGERS_ONLY = { ...NO_ACCESS, owner: "ok", manager: "ok", lead: "ok", member: "FORBIDDEN" };

test("managers of a team create federations in it", async () => {
  expect(await platform.outcomes((_context, who) => create(who))).toEqual(MANAGERS_ONLY);
});

test("without a team the first one that the principal manages is used", async () => {
  const { federation } = await create("lead", { teamId: "" });
  expect(federation?.teamId).toBe(platform.team.id);
  expect(await outcomeOf(create("member", { teamId: "" }))).toBe("FORBIDDEN");
});

test("a federation is visible to its team; for others it does not exist", async () => {
  const id = await idOf();
  const outcomes = await platform.outcomes((context) => training().getFederation({ id }, context));
  expect(outcomes).toEqual({ ...NO_ACCESS, owner: "ok", manager: "ok", lead: "ok", member: "ok" });
  const seen = async (who: Who) => (await training().listFederations({ page: undefined }, platform.as(who))).federations.length;
  expect(await Promise.all((["member", "colleague", "stranger"] as const).map(seen))).toEqual([1, 0, 0]);
});

test("managers of the team pause a federation, and only in a state that allows it", async () => {
  expect(await platform.outcomes(async (_context, who) => control(who, await idOf(), "pause"))).toEqual(MANAGERS_ONLY);
  const id = await idOf();
  expect(await outcomeOf(control("owner", id, "resume"))).toBe("RECORD_CHANGED");
  expect(await outcomeOf(control("owner", id, "explode"))).toBe("VALIDATION_ERROR");
});

test("a join token opens its own place and no other; an unknown one is UNAUTHORIZED", async () => {
  const { joinTokens, federation } = await create("owner", { participants: [JOINING, JOINING] });
  const join = (token: string) => training().joinFederation({ blob: "", token }, platform.as("anonymous"));
  expect(await join(joinTokens[1] ?? "")).toMatchObject({ federationId: federation?.id, participantId: "p2" });
  expect(await outcomeOf(join("join_none"))).toBe("UNAUTHORIZED");
  const { federation: after } = await training().getFederation({ id: federation?.id ?? "" }, platform.as("owner"));
  expect(after?.participants.map(({ joined, secret }) => [joined, secret])).toEqual([
    [false, ""],
    [true, ""],
  ]);
});

describe("blobs", () => {
  const [RESULT, UPDATE, OTHERS, UNKNOWN, BASE] = ["a", "b", "c", "d", "e"].map((digit) => digit.repeat(64)) as [
    ...[string, string, string, string, string],
  ];
  const participant = (id: string, updateBlob: string) => ({ participantId: id, state: "accepted", updateBlob }) as never;

  test("are an organization's if its federations made them, and a participant's if they are results or its own updates", async () => {
    const { joinTokens, federation } = await create("owner", { participants: [JOINING, JOINING] });
    const federationId = federation?.id ?? "";
    const participants = [participant("p1", UPDATE), participant("p2", OTHERS)];
    await platform.deps.store.transaction("every", (tx) =>
      tx.put("trainingRounds", {
        ...{ id: `${federationId}/1`, federationId, round: 1, state: "committed", participants, record: "", recordHash: "" },
        ...{ resultBlob: RESULT, budgetNanoUsd: 0n, openedAt: 1 },
      }),
    );
    const named = async (blob: string) =>
      (await training().joinFederation({ token: joinTokens[0] ?? "", blob }, platform.as("anonymous"))).namesBlob;
    expect([await named(RESULT), await named(UPDATE), await named(OTHERS), await named(UNKNOWN), await named("")]).toEqual([
      ...[true, true, false, false, false],
    ]);
    const made = async (who: Who, blob: string) => (await training().findBlob({ blob }, platform.as(who))).isFederations;
    expect([await made("member", RESULT), await made("owner", OTHERS), await made("owner", UNKNOWN)]).toEqual([true, true, false]);
    expect([await made("stranger", RESULT), await made("stranger", UPDATE)]).toEqual([false, false]);
    expect(await outcomeOf(training().findBlob({ blob: RESULT }, platform.as("anonymous")))).toBe("UNAUTHORIZED");
  });

  test("with central noise, results are the organization's and updates nobody's: the noise comes off beside them", async () => {
    const settings = JSON.stringify({ dp: { mode: "central" } });
    const { joinTokens, federation } = await create("owner", { settings });
    const federationId = federation?.id ?? "";
    const record = JSON.stringify({ base: BASE, state: UNKNOWN, strategy: { secure: { proof: OTHERS } } });
    await platform.deps.store.transaction("every", (tx) =>
      tx.put("trainingRounds", {
        ...{ id: `${federationId}/1`, federationId, round: 1, state: "committed", participants: [participant("p1", UPDATE)], record },
        ...{ recordHash: "", resultBlob: RESULT, budgetNanoUsd: 0n, openedAt: 1 },
      }),
    );
    const made = async (blob: string) => (await training().findBlob({ blob }, platform.as("owner"))).isFederations;
    expect(await Promise.all([RESULT, BASE, UNKNOWN, UPDATE, OTHERS].map(made))).toEqual([true, true, true, false, false]);
    const named = async (blob: string) =>
      (await training().joinFederation({ token: joinTokens[0] ?? "", blob }, platform.as("anonymous"))).namesBlob;
    expect([await named(RESULT), await named(UPDATE)]).toEqual([true, false]);
  });

  test("may be on the operator's nodes for a tenant only if those are shared", async () => {
    await open({ SHARED_TRAINERS: "false", SERVING_URLS: "http://127.0.0.1:5000", TRAINER_TOKEN: "node-secret" });
    const find = (who: Who) => training().findBlob({ blob: "" }, platform.as(who));
    expect(await find("owner")).toMatchObject({ organizationId: platform.organization.id, isOperator: false, nodes: [] });
    expect(await find("operator")).toMatchObject({ isOperator: true, nodes: [{ url: "http://127.0.0.1:5000", token: "node-secret" }] });
  });
});

test("a coordinator without the claim changes nothing", async () => {
  const federationId = await idOf();
  const { work } = await training().claimFederations(
    { claim: "a", leaseMs: 1000n, limit: 1, except: [], address: "" },
    platform.as("anonymous"),
  );
  expect(work.map(({ federation }) => federation?.id)).toEqual([federationId]);
  const end = (claim: string) => training().endFederation({ federationId, claim, state: "failed" }, platform.as("anonymous"));
  expect([await outcomeOf(end("b")), await outcomeOf(end("a"))]).toEqual(["RECORD_CHANGED", "ok"]);
});

describe("the holder of a federation", () => {
  const [first, second] = ["http://127.0.0.1:5101", "https://co-2.example.org:5100"];
  const claim = (address: string) =>
    training().claimFederations({ claim: address, leaseMs: 1000n, limit: 1, except: [], address }, platform.as("anonymous"));
  const release = (federationId: string, address: string) =>
    training().releaseFederation({ federationId, claim: address, waitingFor: "blobs", waitingClaim: "" }, platform.as("anonymous"));

  test("is the coordinator with the claim, and after a release the one before it, which has the blobs", async () => {
    const id = await idOf();
    const holder = async () => (await training().getFederation({ id }, platform.as("owner"))).federation?.holder;
    expect(await holder()).toBe("");
    expect((await claim(first)).work[0]?.federation?.holder).toBe(first);
    for (const action of ["pause", "resume"]) await control("owner", id, action);
    expect(await holder()).toBe(first);
    await claim(second);
    expect(await holder()).toBe(second);
    await release(id, second);
    expect(await holder()).toBe(first);
    await claim(second);
    const ended = { federationId: id, claim: second, state: "failed" };
    await training().endFederation(ended, platform.as("anonymous"));
    expect(await holder()).toBe(second);
  });

  test("is an address and nothing else", async () => {
    await idOf();
    for (const address of ["co-2.example.org", "https://co/?x", "https://user:pw@co", "file:///etc"])
      expect(await outcomeOf(claim(address))).toBe("VALIDATION_ERROR");
  });
});

test("nodes of a team: managers add and remove them, their addresses are unique, and their tokens are not listed", async () => {
  const request = { name: "", url: "http://127.0.0.1:5999", teamId: platform.team.id, token: "node-secret" };
  await open({ ALLOW_PRIVATE_NODES: "true", SERVING_URLS: "http://127.0.0.1:5000" });
  const add = (who: Who) => training().createNode({ ...request, teamId: platform.team.id }, platform.as(who));
  expect(await outcomeOf(add("member"))).toBe("FORBIDDEN");
  const { node } = await add("lead");
  expect(await outcomeOf(add("owner"))).toBe("ALREADY_EXISTS");
  expect(node?.token).toBeUndefined();
  const remove = (who: Who) => training().deleteNode({ id: node?.id ?? "" }, platform.as(who));
  expect([await outcomeOf(remove("stranger")), await outcomeOf(remove("member")), await outcomeOf(remove("lead"))]).toEqual([
    "NOT_FOUND",
    "FORBIDDEN",
    "ok",
  ]);
});

test("ssrf: the address of a metadata service is refused for ever, and the refusal names no setting that would allow it", async () => {
  const add = (url: string) => training().createNode({ name: "", url, teamId: platform.team.id }, platform.as("lead"));
  await open({ ALLOW_PRIVATE_NODES: "true" });
  await expect(add("http://169.254.169.254/")).rejects.toThrow("is a link-local address, which is never allowed");
  await open({ ALLOW_PRIVATE_NODES: "false" });
  await expect(add("http://10.0.0.7/")).rejects.toThrow(
    "is a private address; the operator can allow such addresses with ALLOW_PRIVATE_NODES=true",
  );
});

test("a node's secret goes to the edge that signs for it and to coordinators, and is not listed", async () => {
  await open({ ALLOW_PRIVATE_NODES: "true" });
  const [url, secret] = ["http://127.0.0.1:5999", "a-secret-of-the-node"];
  const { node } = await training().createNode({ name: "", url, teamId: platform.team.id, secret }, platform.as("lead"));
  const id = node?.id ?? "";
  const secretFor = async (withToken: boolean) => (await training().getNode({ id, withToken }, platform.as("member"))).node?.secret;
  expect([node?.secret, await secretFor(false), await secretFor(true)]).toEqual([undefined, undefined, secret]);
  await create("owner", { participants: [{ url, join: false, dataset: "" }] });
  const { work } = await training().claimFederations(
    { claim: "a", leaseMs: 1000n, limit: 1, except: [], address: "" },
    platform.as("anonymous"),
  );
  expect(work[0]?.federation?.participants).toMatchObject([{ url, secret }]);
});

test("a node or participant at the shared trainer's address is called with the operator's token, as its organization", async () => {
  await open({ ALLOW_PRIVATE_NODES: "true", SERVING_URLS: "http://127.0.0.1:5000", TRAINER_TOKEN: "the-operators-token" });
  const urls = ["http://127.0.0.1:5000", "http://localhost:5000"];
  const nodes = urls.map((url) => training().createNode({ name: "", url, teamId: platform.team.id }, platform.as("lead")));
  const ids = (await Promise.all(nodes)).map(({ node }) => node?.id ?? "");
  const tokenOf = async (id: string) => (await training().getNode({ id, withToken: true }, platform.as("member"))).node?.token;
  expect(await Promise.all(["node_local", ...ids].map(tokenOf))).toEqual(["the-operators-token", "the-operators-token", undefined]);
  await create("owner", { participants: urls.map((url) => ({ url, join: false, dataset: "" })) });
  const { work } = await training().claimFederations(
    { claim: "a", leaseMs: 1000n, limit: 1, except: [], address: "" },
    platform.as("anonymous"),
  );
  const tenantId = platform.team.organizationId;
  expect(work[0]?.federation?.participants).toMatchObject([
    { token: "the-operators-token", tenantId },
    { token: "", tenantId },
  ]);
});

test("the list of referenced blobs continues by its own cursor only", async () => {
  const list = (after: string) => training().listBlobUses({ after, limit: 10 }, platform.as("anonymous"));
  const { next } = await list("");
  expect(await outcomeOf(list(next))).toBe("ok");
  expect(await outcomeOf(list("everything"))).toBe("VALIDATION_ERROR");
});

const open = async (environment: Record<string, string>) => {
  await platform.close();
  platform = await openPlatform(environment);
};
