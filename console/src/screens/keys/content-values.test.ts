import { contentBody, contentValues } from "./content-values.ts";

test("a key that is saved without a change of the setting does not send it, so that members can save their keys", () => {
  const before = contentValues({ logContent: true, logContentDays: 7 });
  expect(contentBody(before, before)).toEqual({});
  expect(contentBody(contentValues(undefined), contentValues(undefined))).toEqual({});
});

test.each([
  [
    { logContent: "inherited", logContentDays: "" },
    { logContent: null, logContentDays: null },
  ],
  [
    { logContent: "inherited", logContentDays: 7 },
    { logContent: null, logContentDays: null },
  ],
  [
    { logContent: "false", logContentDays: "" },
    { logContent: false, logContentDays: null },
  ],
  [
    { logContent: "true", logContentDays: 30 },
    { logContent: true, logContentDays: 30 },
  ],
])("%j is sent as %j", (values, body) => {
  expect(contentBody(values, contentValues({ logContent: true, logContentDays: 7 }))).toEqual(body);
});
