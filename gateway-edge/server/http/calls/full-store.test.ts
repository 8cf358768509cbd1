import { AppError } from "../../../../common/errors.ts";
import { deployment, FakeControl, startEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";

test("of an organization at its limit, one response is answered unstored; the next are refused before they are paid for, unless store is false", async () => {
  const control = new FakeControl();
  control.deployments = [deployment({ modelName: "echo" })];
  const edge = await startEdge(control);
  try {
    const own = jsonCaller(edge.url, control.addKey().secret);
    const other = jsonCaller(edge.url, control.addKey({ organizationId: "org_2", teamId: "team_2" }).secret);
    const body = { model: "echo", input: "hello" };
    const full = new AppError("PAYLOAD_TOO_LARGE", "Your organization has 9 bytes. Send store: false.", { param: "store" });
    const commit = jest.spyOn(control.records, "commit").mockRejectedValueOnce(full);
    const first = await own("POST", "/v1/responses", body);
    expect([first.status, first.json["store"]]).toEqual([200, false]);
    const calls = control.settled.size;
    const refused = await own("POST", "/v1/responses", body);
    expect([refused.status, refused.json["error"]]).toMatchObject([413, { param: "store", message: full.message }]);
    expect([...control.settled.values()].slice(calls).filter(({ status }) => status !== "refused")).toEqual([]);
    expect((await own("POST", "/v1/responses", { ...body, store: false })).status).toBe(200);
    const stored = await other("POST", "/v1/responses", body);
    expect([stored.status, stored.json["store"]]).toEqual([200, true]);
    // One response that is too large says nothing about the organization.
    commit.mockRejectedValueOnce(new AppError("PAYLOAD_TOO_LARGE", "The record is larger than 3 bytes."));
    expect((await other("POST", "/v1/responses", body)).json["store"]).toBe(false);
    expect((await other("POST", "/v1/responses", body)).json["store"]).toBe(true);
  } finally {
    await edge.close();
  }
});
