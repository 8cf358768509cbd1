/** `make test-all`. `make test` looks at a part of what takes long, in every run at the same part. */
export const isThorough = process.env["THOROUGH"] === "1";
