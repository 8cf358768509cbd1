import { otherTeams } from "./other-teams.ts";

const teams = [{ id: "team_1" }, { id: "team_2" }];

test("a key can move to the other teams that the user sees: to none for a member of one team", () => {
  expect(otherTeams(teams, { teamId: "team_1" })).toEqual([{ id: "team_2" }]);
  expect(otherTeams([{ id: "team_1" }], { teamId: "team_1" })).toEqual([]);
  expect(otherTeams(undefined, { teamId: "team_1" })).toEqual([]);
});
