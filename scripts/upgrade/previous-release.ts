/**
 * The release before this one, which `make upgrade` runs together with this one. The commit that makes a release replaces it by the commit of
 * the release that was current until then.
 */
export const PREVIOUS_RELEASE = { name: "previous", commit: "e65e0ae945a59dc0d28e4c78b0bdd72fc88453b8" } as const;
