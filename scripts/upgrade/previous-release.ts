/**
 * The release before this one, which `make upgrade` runs together with this one. The commit that makes a release replaces it by the commit of
 * the release that was current until then.
 */
export const PREVIOUS_RELEASE = { name: "previous", commit: "f8196a3db343d3a2a40feafe2ecb090fd0810c8a" } as const;
