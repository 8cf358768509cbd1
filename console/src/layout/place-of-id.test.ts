import { placeOfId } from "./place-of-id.ts";

const random = "1".repeat(33);

test("an ID opens its record; anything else is a search", () => {
  expect(placeOfId(`call_${random}`)).toMatchObject({ to: "/logs", search: { call: `call_${random}` } });
  expect([placeOfId(`team_${random}`)?.to, placeOfId(`fed_${random}`)?.to]).toEqual([`/teams/team_${random}`, `/training/fed_${random}`]);
  for (const text of ["call_", "constructor_11111111111111111111", `call_${random}/../x`, `key_${random}`, "logs"]) {
    expect(placeOfId(text)).toBeUndefined();
  }
});
