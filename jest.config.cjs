/** Tests run from source through swc to CommonJS; types are checked apart, by `make check`. */
module.exports = {
  testEnvironment: "node",
  // Not in TMPDIR, which is another folder in each run.
  cacheDirectory: "<rootDir>/.cache/jest",
  rootDir: __dirname,
  roots: [
    "<rootDir>/common",
    "<rootDir>/control-plane",
    "<rootDir>/gateway-edge",
    "<rootDir>/trainer-node",
    "<rootDir>/cli",
    "<rootDir>/console/src",
    "<rootDir>/scripts",
    "<rootDir>/test",
  ],
  testMatch: ["**/*.test.ts"],
  testSequencer: "<rootDir>/scripts/test/longest-first.cjs",
  moduleFileExtensions: ["ts", "js", "cjs", "mjs", "json", "node"],
  transform: {
    "^.+\\.(ts|js|mjs)$": ["@swc/jest", { jsc: { parser: { syntax: "typescript" }, target: "es2023" }, module: { type: "commonjs" } }],
  },
  // jose and http-proxy-middleware (with what it needs) are published as ES modules only; the mongodb driver loads `os` by a dynamic import, which jest refuses in CommonJS.
  transformIgnorePatterns: ["/node_modules/(?!(jose/|http-proxy-middleware/|httpxy/|is-plain-obj/|mongodb/lib/runtime_adapters))"],
  // Tests that start a platform take seconds on a quiet machine, and ten times that on a busy one.
  testTimeout: 120000,
  // A worker keeps what each test file loaded, and its collector visits all of it again and again. A new worker after some files costs less.
  workerIdleMemoryLimit: "250MB",
  // A test file has globals of its own, and each use of one is looked up there by name, in inner loops too. This one is handed to each module
  // as a parameter instead: arithmetic kernels take half the time.
  sandboxInjectedGlobals: ["Math"],
};
