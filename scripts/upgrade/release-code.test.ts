import { PREVIOUS_RELEASE } from "./previous-release.ts";
import { releaseCode } from "./release-code.ts";

test("a commit that this clone does not have is a reason that names it and says what to do, not a failure", () => {
  const commit = "0".repeat(40);
  expect(releaseCode(commit)).toEqual({ missing: expect.stringMatching(new RegExp(`no commit ${commit}.*git fetch --unshallow`)) });
});

test("the previous release is a whole commit hash", () => {
  expect(PREVIOUS_RELEASE.commit).toMatch(/^[0-9a-f]{40}$/);
});
