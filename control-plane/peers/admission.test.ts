import type { PeerCertificate } from "node:tls";
import { Metadata } from "@grpc/grpc-js";
import { AppError } from "../../common/errors.ts";
import { everyMethod } from "../../common/grpc/every-method-fixture.ts";
import type { IncomingCall } from "../../common/grpc/server.ts";
import { peerOf, peerUri, ROLES } from "../../common/peers/peer.ts";
import { AccessServiceService } from "../../proto/gen/tributary/access/v1/access.ts";
import { RatesServiceService } from "../../proto/gen/tributary/rates/v1/rates.ts";
import { SystemServiceService } from "../../proto/gen/tributary/system/v1/system.ts";
import { openPlatform, type Platform } from "../services/platform-fixture.ts";
import { collect } from "../stores/page.ts";
import { admitByCertificate } from "./admission.ts";
import { createRefusals } from "./refusals.ts";
import { rolesOf } from "./roles.ts";

const { lease, settle, reserve, reserveMany, watch, flushed } = AccessServiceService;
const { reportEdge } = SystemServiceService;
const { countCalls } = RatesServiceService;

/** A call with a certificate of our authority that has these alternative names. */
const callOf = (subjectaltname: string | undefined): IncomingCall => ({
  metadata: new Metadata(),
  getAuthContext: () => ({ transportSecurityType: "ssl", sslPeerCertificate: { subjectaltname } as PeerCertificate }),
});
const EDGE_1 = callOf("URI:tributary://edge/edge-1");

let platform: Platform;
let admit: ReturnType<typeof admitByCertificate>;
beforeEach(async () => {
  platform = await openPlatform({});
  admit = admitByCertificate(createRefusals(platform.deps));
});
afterEach(() => platform.close());

const audited = async () =>
  (await collect(platform.deps.store.scan("audit")))
    .filter(({ action }) => action === "peer.refused")
    .map(({ target, details }) => ({ target, ...JSON.parse(details) }));

test("every method of every service has its roles; none is for trainers, and only the limits of others are for control planes alone", async () => {
  for (const { path } of await everyMethod()) {
    expect([path, rolesOf(path).length > 0]).toEqual([path, true]);
    const isForPlanes = path.startsWith("/tributary.rates.v1.RatesService/");
    if (isForPlanes) expect(rolesOf(path)).toEqual(["control-plane"]);
    else expect(rolesOf(path).filter((role) => role === "trainer" || role === "control-plane")).toEqual([]);
  }
  expect(rolesOf("/tributary.access.v1.AccessService/Unknown")).toEqual([]);
});

test("a coordinator can do what a coordinator does, and an operator nothing that needs no user", async () => {
  const allowed = (await everyMethod()).filter(({ path }) => rolesOf(path).includes("coordinator"));
  expect(allowed.every(({ path }) => path.startsWith("/tributary.training.v1.TrainingService/"))).toBe(true);
  expect(allowed).toHaveLength(15);
  const operator = (await everyMethod()).filter(({ path }) => rolesOf(path).includes("operator"));
  expect(operator.filter(({ path }) => /AccessService|RecordsService|ReportEdge|ClaimFederations/.test(path))).toEqual([]);
});

test.each<[string, { path: string }, object]>([
  ["lease", lease, { edgeId: "edge-2:edge-0-ab" }],
  ["settle", settle, { edgeId: "edge-2:edge-0-ab", endedEdges: [] }],
  ["end the leases of another edge", settle, { edgeId: "edge-1:edge-0-cd", endedEdges: ["edge-2:edge-0-ab"] }],
  ["reserve", reserve, { edgeId: "edge-2:edge-0-ab" }],
  ["reserve among its own", reserveMany, { reservations: [{ edgeId: "edge-1:edge-0-cd" }, { edgeId: "edge-2:edge-0-ab" }] }],
  ["watch", watch, { edgeId: "edge-2:edge-0-ab" }],
  ["confirm a flush", flushed, { edgeId: "edge-2:edge-0-ab" }],
  ["report", reportEdge, { id: "edge-2:edge-0-ab" }],
  ["lease under a name that only begins alike", lease, { edgeId: "edge-10:edge-0-ab" }],
  ["lease under an id without an owner", lease, { edgeId: "edge-0-ab" }],
  ["lease under no id", lease, { edgeId: "" }],
])("edge 1 cannot %s as another edge: refused and audited", async (_name, { path }, request) => {
  const refusal = await admit(path, EDGE_1, request);
  expect(refusal).toBeInstanceOf(AppError);
  expect(refusal?.code).toBe("FORBIDDEN");
  expect(await audited()).toEqual([expect.objectContaining({ peer: "tributary://edge/edge-1", method: path })]);
});

test("edge 1 can do all of it as itself, and end edges from before there were certificates", () => {
  const edgeId = "edge-1:edge-0-cd";
  for (const { path } of [lease, reserve, watch, flushed]) expect(admit(path, EDGE_1, { edgeId })).toBeUndefined();
  expect(admit(settle.path, EDGE_1, { edgeId, endedEdges: ["edge-1:edge-0-ef", "edge-0-ab"] })).toBeUndefined();
  expect(admit(reserveMany.path, EDGE_1, { reservations: [{ edgeId }] })).toBeUndefined();
  expect(admit(reportEdge.path, EDGE_1, { id: edgeId })).toBeUndefined();
});

test("the role in the certificate decides, and a repeated attempt is audited once a minute", async () => {
  const coordinator = callOf("URI:tributary://coordinator/c, DNS:localhost");
  for (let attempt = 0; attempt < 3; attempt++) expect(await admit(settle.path, coordinator, {})).toMatchObject({ code: "FORBIDDEN" });
  expect(await audited()).toHaveLength(1);
  await platform.advance(60_001);
  await admit(settle.path, coordinator, {});
  expect(await audited()).toHaveLength(2);
});

test.each([
  undefined,
  "",
  "DNS:edge-1",
  "URI:tributary://admin/edge-1",
  "URI:tributary://edge/",
  "URI:tributary://edge/a:b",
  "URI:tributary://edge/a/b",
  "URI:tributary://edge/edge-1, URI:tributary://edge/edge-2",
  'URI:"https://x, URI:tributary://edge/edge-1, DNS:y"',
  "URI:https://example.org/tributary://edge/edge-1",
])("a certificate with the names %j is nobody's", async (names) => {
  expect(peerOf(names)).toBeUndefined();
  expect(await admit(lease.path, callOf(names), { edgeId: "edge-1:x" })).toMatchObject({ code: "UNAUTHORIZED" });
});

test("a control plane forwards a call as the edge that made it, and only as that; nobody else's word counts", async () => {
  const forwarded = (by: string, peer: string): IncomingCall => {
    const call = callOf(by);
    call.metadata.set("x-forwarded-peer", peer);
    return call;
  };
  const plane = "URI:tributary://control-plane/cp-2";
  const own = { edgeId: "edge-1:edge-0-cd" };
  expect(admit(lease.path, forwarded(plane, "tributary://edge/edge-1"), own)).toBeUndefined();
  expect(await admit(lease.path, forwarded(plane, "tributary://edge/edge-2"), own)).toMatchObject({ code: "FORBIDDEN" });
  expect(await admit(lease.path, forwarded(plane, "tributary://coordinator/c"), own)).toMatchObject({ code: "FORBIDDEN" });
  expect(await admit(lease.path, forwarded(plane, ""), own)).toMatchObject({ code: "UNAUTHORIZED" });
  // In its own name it asks for limits that the other one counts, and an edge does not.
  expect(admit(countCalls.path, forwarded(plane, "tributary://control-plane/cp-2"), {})).toBeUndefined();
  expect(await admit(countCalls.path, EDGE_1, {})).toMatchObject({ code: "FORBIDDEN" });
  // Without a caller to name, another control plane may do nothing.
  expect(await admit(lease.path, callOf(plane), own)).toMatchObject({ code: "FORBIDDEN" });
  expect(await admit(lease.path, forwarded("URI:tributary://edge/edge-2", "tributary://edge/edge-1"), own)).toMatchObject({
    code: "FORBIDDEN",
  });
});

test("what names a peer is what is read from its certificate", () => {
  for (const role of ROLES) expect(peerOf(`DNS:localhost, URI:${peerUri({ role, name: "a-1.b" })}`)).toEqual({ role, name: "a-1.b" });
});
