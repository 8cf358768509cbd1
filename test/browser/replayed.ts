import { call, chat, newTenant } from "../helpers/api.ts";
import { lookAt } from "./look.ts";
import type { Stage } from "./stage.ts";

const tool = {
  type: "function",
  function: { name: "tide", description: "Height by harbor", parameters: { type: "object", properties: {} } },
};

export function replayedTests(stage: () => Stage): void {
  describe("calls of a session or a trace are seen together, and a stored call is made again as it was", () => {
    test("from the panel of a call to its session, with sums, and from there to another call; another ID is asked for exactly", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "traveler" });
      const metadata = { session_id: "river/1" };
      for (const words of ["one", "two"]) await chat(system, tenant.key, words, { metadata });
      await chat(system, tenant.key, "by boat", { metadata, model: "unreachable" });
      await chat(system, tenant.key, "not of it", { metadata: { session_id: "river/12" } });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto("/ui/logs?tag=session%3Ariver%2F1");
      await page.getByText("3 calls,").waitFor();
      await page
        .getByRole("button", { name: /open this call/ })
        .first()
        .click();
      await page.getByRole("dialog").getByRole("link", { name: "Open session" }).click();
      await page.getByRole("heading", { level: 1, name: "Session" }).waitFor();
      await page.getByText("1 without success").waitFor();
      const rows = page.getByRole("table", { name: "Calls of the session" }).locator("tbody tr");
      expect(await rows.count()).toBe(3);
      await rows.last().getByText("error").waitFor();
      await rows
        .first()
        .getByRole("button", { name: /open this call/ })
        .click();
      await page.getByRole("dialog").getByText("Ledger entry #").waitFor();
      await page.keyboard.press("Escape");
      await page.getByLabel("Session ID, exactly").fill("river/12");
      await page.waitForURL(/session=river%2F12/);
      await page.getByText("0 without success").waitFor();
      expect(await rows.count()).toBe(1);
      expect(complaints).toEqual([]);
    });

    test("calls of one traceparent are seen together, from the panel of a call and by the trace ID", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "instrumented" });
      const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
      const traced = (model: string) =>
        call(system.url, "POST", "/v1/chat/completions", {
          token: tenant.key,
          body: { model, messages: [{ role: "user", content: "step" }] },
          headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
        });
      for (const model of ["echo", "echo", "no-such-model"]) await traced(model);
      await chat(system, tenant.key, "not of it");
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto(`/ui/logs?tag=trace%3A${traceId}`);
      await page
        .getByRole("button", { name: /open this call/ })
        .nth(2)
        .click();
      await page.getByRole("dialog").getByRole("link", { name: "Open trace" }).click();
      await page.getByRole("heading", { level: 1, name: "Trace" }).waitFor();
      const rows = page.getByRole("table", { name: "Calls of the trace" }).locator("tbody tr");
      await rows.nth(2).getByText("refused").waitFor();
      expect(await rows.count()).toBe(3);
      expect(await lookAt(page, "trace")).toEqual([]);
      await page.getByLabel("Trace ID, exactly").fill("no trace");
      await page.getByRole("alert").getByText("must be 32 hexadecimal digits").first().waitFor();
      await page.getByLabel("Trace ID, exactly").fill(traceId.toUpperCase());
      await rows.nth(2).waitFor();
      expect(complaints).toEqual([]);
    });

    test("Open in playground is there with a stored prompt only, and sends the request as it was, tools and format too", async () => {
      const { system } = stage();
      const tenant = await newTenant(system, { creditNano: 1_000_000_000, name: "repeater" });
      await chat(system, tenant.key, "before");
      await call(system.url, "PUT", "/api/gw/organizations", { token: tenant.token, body: { logContent: true } });
      const messages = [
        { role: "system", content: "Be brief." },
        { role: "user", content: "High tide?" },
        { role: "assistant", content: null, tool_calls: [{ id: "1", type: "function", function: { name: "tide", arguments: "{}" } }] },
        { role: "tool", tool_call_id: "1", content: "4 meters" },
      ];
      const sent = { model: "echo", messages, tools: [tool], temperature: 0, max_tokens: 50, seed: 7, response_format: { type: "text" } };
      const id = await storedCall(async () => {
        const answer = await call(system.url, "POST", "/v1/chat/completions", { token: tenant.key, body: sent });
        return answer.headers.get("x-gw-call-id") ?? "";
      });
      const { page, complaints } = await stage().visitAs(tenant);
      await page.goto(`/ui/logs?call=${id}`);
      const panel = page.getByRole("dialog");
      await panel.getByRole("button", { name: "Show prompt and answer" }).waitFor();
      await expect(panel.getByRole("link", { name: "Open in playground" }).count()).resolves.toBe(0);
      await panel.getByRole("button", { name: "Show prompt and answer" }).click();
      await panel.getByRole("link", { name: "Open in playground" }).click();
      await page.getByText("4 meters").waitFor();
      await expect(page.getByLabel("System prompt").first().inputValue()).resolves.toBe("Be brief.");
      expect(await lookAt(page, "replay")).toEqual([]);
      const repeated = page.waitForRequest((request) => request.url().endsWith("/v1/chat/completions"));
      await page.getByRole("button", { name: "Send this conversation" }).click();
      expect((await repeated).postDataJSON()).toEqual({ ...sent, stream: true, stream_options: { include_usage: true } });
      await page.getByTestId("meter").getByText(/token/).waitFor();
      expect(complaints).toEqual([]);

      async function storedCall(make: () => Promise<string>): Promise<string> {
        for (let attempt = 0; attempt < 100; attempt++) {
          const made = await make();
          // An edge learns of the setting within a second, and a content follows its call.
          for (let look = 0; look < 5; look++) {
            if ((await call(system.url, "GET", `/api/gw/logs/${made}/content`, { token: tenant.token })).status === 200) return made;
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        }
        throw new Error("no prompt was stored");
      }
    });
  });
}
