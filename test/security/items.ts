import type { SecurityItem } from "../../scripts/security/check-items.ts";
import { FINDINGS, LATER } from "./findings.ts";
import { SURFACE } from "./surface.ts";
import { ACCOUNT, CANARIES, GENERAL, HOPS, HOSTILE, INFERENCE, INVITATIONS, LOGIN, NO_SECRET, RUNNING } from "./test-files.ts";

const IDENTITY: readonly SecurityItem[] = [
  {
    id: "S-25",
    guarantee: "passwords are stored as argon2id with OWASP's cost",
    tests: [
      ["control-plane/crypto/crypto.test.ts", "a password is stored as argon2id with OWASP's cost, and only the same password verifies"],
    ],
  },
  {
    id: "S-26",
    guarantee: "passwords may be long, count in full, and are none of the common ones",
    tests: [
      [RUNNING, "S-26: a password may be long and of one kind of letters, all of it counts, and short or common ones are refused"],
      [
        "control-plane/crypto/crypto.test.ts",
        "the common passwords of eight characters and more are known in any case of letters, and nothing else is",
      ],
      ["control-plane/services/identity/service.test.ts", "a sign-up with * is refused"],
    ],
  },
  {
    id: "S-27",
    guarantee: "log-ins are limited by account and address before a password is checked, and locks nobody out",
    tests: [
      [
        LOGIN,
        "of eighty wrong passwords at once ten are checked and the rest wait; the person gets in from elsewhere",
        "one account takes a hundred wrong passwords an hour, from however many addresses",
        "the console's log-in and the current password of a password change use the same attempts",
      ],
      ["control-plane/crypto/crypto.test.ts", "a flood of hashes is refused rather than queued without end"],
      [
        "control-plane/services/identity/service.test.ts",
        "an invented or used reset link, or a password against the rules, takes no turn of those who wait for a hash",
        "on an exposed deployment an address tries 20 reset links an hour; others are unaffected",
      ],
    ],
  },
  {
    id: "S-28",
    guarantee: "log-ins, resets and invitations do not tell which addresses have an account; sign-ups are limited",
    tests: [
      [ACCOUNT, "an unknown user and a wrong password are the same answer", "an unknown user takes as long as a wrong password"],
      [ACCOUNT, "a request for an unknown address looks the same, and an invented token does nothing"],
      [LOGIN, "an address without an account is answered and counted like one with an account"],
      [LOGIN, "an address on an exposed deployment gets its hourly *, then 429 with retry-after"],
      [INVITATIONS, "an address with an account and one without get the same answer: an invitation, a link, and no name or user id"],
    ],
  },
  {
    id: "S-29",
    guarantee: "forged, unsigned, foreign, mistyped and expired tokens are refused",
    tests: [
      ["control-plane/crypto/crypto.test.ts", "a token is read back; a forged, unsigned, foreign, wrongly typed or expired one is refused"],
      [ACCOUNT, "a log-in answers {token, expiresAt} for one hour, by an allow-listed algorithm, and is remembered"],
    ],
  },
  {
    id: "S-30",
    guarantee: "a refresh ends the token before it, its reuse ends the session, and roles are read anew",
    tests: [
      [ACCOUNT, "a refresh ends the token before it; whoever uses that one ends the session, and only this session"],
      [ACCOUNT, "a refreshed token belongs to the same session; role and name are read afresh"],
      [
        "control-plane/services/identity/sessions.test.ts",
        "* with an ended token ends the session, and the audit log says so",
        "of two parallel refreshes of one token one is a reuse",
      ],
    ],
  },
  {
    id: "S-31",
    guarantee: "a deleted user and a removed member lose their sessions and keys within a second",
    tests: [
      [ACCOUNT, "a deleted user's tokens are refused"],
      [
        "test/contract/removed-member.test.ts",
        "the keys that a removed member made in the team are refused by every edge within a second; all others work on",
      ],
      ["test/contract/operations-admin.test.ts", "are listed by page, searched, shown, changed and deleted"],
    ],
  },
  {
    id: "S-32",
    guarantee: "keys are random, unbiased and have a checksum",
    tests: [
      ["common/key-shape.test.ts", "every minted key has key shape and no two are equal", "any single changed character is noticed"],
      ["common/key-shape.test.ts", "bytes that would favor some digits are discarded", "digits are spread evenly"],
    ],
  },
  {
    id: "S-33",
    guarantee: "keys are stored as keyed hashes only",
    tests: [
      [CANARIES, NO_SECRET],
      ["control-plane/services/keys/service.test.ts", "the secret is returned once; the store has only its hash"],
    ],
  },
  {
    id: "S-34",
    guarantee: "a key is shown once",
    tests: [
      ["test/contract/operations-keys.test.ts", "a key is 201 with its record and the secret, which is shown this once"],
      ["common/key-shape.test.ts", "the mask shows the last four characters only, the hash is plain SHA-256"],
    ],
  },
  { id: "S-35", guarantee: "the key in a platform message's body is neither logged nor stored", tests: [[CANARIES, NO_SECRET]] },
  { id: "S-36", guarantee: "keys in URLs are not read", tests: [[INFERENCE, "a key in the URL, a cookie or the body is not read"]] },
];

const TENANTS: readonly SecurityItem[] = [
  {
    id: "S-37",
    guarantee: "another tenant's object is a missing one, in every operation, on nodes and on the shared trainer",
    tests: [
      [
        "test/contract/tenants.test.ts",
        "*: another tenant's id is a missing one",
        "*: shows nothing of another tenant",
        "another tenant's key pays for no other tenant",
      ],
      [RUNNING, "S-37: does not exist for another tenant, by token or key, whatever the method"],
      ["trainer-node/http/tenant.test.ts", "no other tenant can see, follow, fetch or cancel a job; the node's operator sees all"],
      ["gateway-edge/server/http/files/files.test.ts", "another team's file is not there"],
    ],
  },
  {
    id: "S-38",
    guarantee: "operations of admins are for admins",
    tests: [
      [GENERAL, "* of somebody who is no admin is 403, whatever else is wrong"],
      [
        "gateway-edge/server/http/models/models.test.ts",
        "scope=expand shows everything to owners and admins, and changes nothing for others",
      ],
    ],
  },
  {
    id: "S-39",
    guarantee: "fields that are not an operation's own have no effect",
    tests: [[HOSTILE, "*: fields that are not its own have no effect"]],
  },
  {
    id: "S-40",
    guarantee: "lists of models show no secret and nothing that the key may not use",
    tests: [
      [
        "gateway-edge/server/http/models/model-info.test.ts",
        "no secret in any form",
        "addresses of the operator are for the master key alone",
        "an id that is unknown, or of a model that the key may not use, is a 404",
      ],
    ],
  },
  {
    id: "S-41",
    guarantee: "an invitation grants at most the inviter's role, for the inviter's teams, by a token that works once",
    tests: [
      ["test/contract/operations-teams.test.ts", "an invitation grants at most the inviter's own role, and a member invites no one"],
      [
        "test/contract/operations-teams.test.ts",
        "no one grants a role above their own, an admin demotes no owner, and the last owner stays one",
      ],
      [INVITATIONS, "the invited account joins team and organization with the token, once; its own organization stays the active one"],
      [INVITATIONS, "another account is refused with 403 and uses nothing up; a changed, empty or withdrawn token is refused"],
      ["test/contract/tenants.test.ts", "post /api/gw/teams/invite-member: another tenant's id is a missing one"],
    ],
  },
  {
    id: "S-42",
    guarantee: "purchases are idempotent, bounded, and reported by Stripe only",
    tests: [
      ["test/contract/operations-credits.test.ts", "* is 400 and moves nothing"],
      ["test/contract/payments.test.ts", "only Stripe can report a payment", "many events at the same moment credit once"],
      ["test/e2e/storms.test.ts", "100 purchases under one Idempotency-Key at once are one purchase and one ledger entry"],
    ],
  },
  {
    id: "S-43",
    guarantee: "what happens a hundred times at once happens as often as it may",
    tests: [
      [
        "test/e2e/storms.test.ts",
        "of 100 creations of one team name at once exactly one wins",
        "of 100 removals of one key at once exactly one succeeds, and the key is dead",
      ],
      ["test/e2e/storms.test.ts", "200 calls at once on the last credit overspend by no more than the published bound"],
      ["test/e2e/storms.test.ts", "owners who remove each other and invite at once never leave a team without an owner"],
    ],
  },
  {
    id: "S-44",
    guarantee: "calls, sign-ups, mails and invitations have limits with retry-after, and lists have pages",
    tests: [
      [INFERENCE, "a rate limit is 429 with retry-after and x-ratelimit-*, and the answers before it count down"],
      [LOGIN, "an address on an exposed deployment gets its hourly *, then 429 with retry-after"],
      [GENERAL, "* pages as the contract says"],
    ],
  },
];

const OPERATION: readonly SecurityItem[] = [
  {
    id: "S-45",
    guarantee: "clients that send or read slowly are disconnected",
    tests: [
      ["test/fuzz/fuzz.test.ts", "S-45: a client that does not finish its request is disconnected"],
      [
        "gateway-edge/server/http/calls/sse-writer.test.ts",
        "a client that does not read is waited for, and given up in the end; what never left is known",
      ],
      [
        "gateway-edge/server/http/testing/unread-streams.test.ts",
        "*: * clients that read nothing of a flood cost at most 256 KiB each, are cut in time, and pay for what left the gateway",
      ],
    ],
  },
  {
    id: "S-46",
    guarantee: "of a caller without a key little is read, and the connection ends",
    tests: [["test/e2e/unread-body.test.ts", "* takes little of a gigabyte from a caller without a key, and hangs up"]],
  },
  {
    id: "S-47",
    guarantee: "errors have one of the described codes, and no stack, path or driver's text",
    tests: [
      [
        HOSTILE,
        "no process wrote an error of its own through all of this, and no secret",
        "hostile chat requests are refused or answered, never broken",
      ],
      ["gateway-edge/app.test.ts", "an unexpected error is a 500 whose text is in the log only"],
      [
        "gateway-edge/server/middleware/error-response.test.ts",
        "* becomes one of the eight codes of the platform API, with an error status",
      ],
    ],
  },
  {
    id: "S-48",
    guarantee: "an error that nobody expected is logged and ends the process",
    tests: [["test/security/services.test.ts", "S-48: an error that nobody expected"]],
  },
  {
    id: "S-49",
    guarantee: "beyond loopback, gRPC needs certificates of both sides",
    tests: [
      [HOPS, "an edge with a certificate serves a paid call, end to end", "a client * reaches no method"],
      [HOPS, "an edge does not talk to a server that is not a control plane"],
      [HOPS, "a coordinator copies blobs to another by its certificate, and may do nothing else there; edges and trainers may not copy"],
      ["gateway-edge/access/clients/coordinator.test.ts", "an address to which the edge may not send its token is not used"],
      ["test/e2e/listening.test.ts", "* refuses to go beyond loopback with *, and says how to do it"],
    ],
  },
  {
    id: "S-50",
    guarantee: "an edge leases and settles under its own identity only",
    tests: [
      [HOPS, "edge 1's certificate cannot settle for edge 2: refused, and in the audit log"],
      ["control-plane/peers/admission.test.ts", "edge 1 cannot * as another edge: refused and audited"],
    ],
  },
  {
    id: "S-51",
    guarantee: "there are no default secrets: production does not start without its own",
    tests: [["test/security/services.test.ts", "S-51: in production"]],
  },
  {
    id: "S-52",
    guarantee: "packages are locked by hash and run no scripts",
    tests: [["test/security/repository.test.ts", "S-52: packages"]],
  },
  {
    id: "S-53",
    guarantee: "a bill of materials lists every production package with hash and license",
    tests: [
      ["scripts/sbom/sbom.test.ts", "a component has name, version, purl, license and SHA-512"],
      ["scripts/sbom/sbom.test.ts", "every production dependency of this repository has an allowed license and a SHA-512"],
    ],
  },
  {
    id: "S-54",
    guarantee: "services have no inspector and no __proto__",
    tests: [[RUNNING, "S-54: services run without __proto__ and without an inspector, also after SIGUSR1"]],
  },
  {
    id: "S-55",
    guarantee: "files of data and logs are for their owner only",
    tests: [
      [CANARIES, NO_SECRET],
      ["scripts/supervisor/supervisor.test.ts", "a log file is private, appended to, and put aside when it is too large"],
    ],
  },
  {
    id: "S-56",
    guarantee: "credentials of providers are sealed with a key outside the store",
    tests: [
      ["control-plane/crypto/crypto.test.ts", "what is sealed opens with the same secret only, and not after a change of one byte"],
      ["control-plane/services/catalog/service.test.ts", "the credential of a provider is encrypted, and no answer contains it"],
      ["test/e2e/secret-key.test.ts", "a control plane with another SECRET_KEY than its store's does not start, and says why"],
    ],
  },
  {
    id: "S-57",
    guarantee: "the audit log says who did what, and a changed entry is found",
    tests: [
      [
        "control-plane/proof/check-audit.test.ts",
        "* is found as * at entry *",
        "entries of transactions at the same time, some of which fail, are one chain without a gap",
      ],
      [
        "test/contract/operations-admin-ledger.test.ts",
        "every kind of write leaves a line that says who, what and in which request",
        "the audit log verifies, and each of its entries has another hash",
      ],
    ],
  },
  {
    id: "S-58",
    guarantee: "prompts, completions and credentials are in no log and no trace",
    tests: [
      [CANARIES, NO_SECRET],
      ["common/log-redaction.test.ts", "* is not written, wherever it stands in a line", "a secret of no known form is not written: *"],
      ["test/e2e/traces.test.ts", "no export has a prompt, an answer or a key, and the spans are counted"],
      ["control-plane/jobs/remove-records.test.ts", "*"],
    ],
  },
  {
    id: "S-59",
    guarantee: "metrics are for this machine and the operator",
    tests: [
      ["gateway-edge/app.test.ts", "health: alive, ready or not, details for admins, figures for this machine"],
      ["trainer-node/http/signed-call.test.ts", "F8: every route but /health and /ready is refused without a signature or the token"],
    ],
  },
  {
    id: "S-60",
    guarantee: "the trainer needs a credential, and hostile tensors are a 4xx",
    tests: [
      ["trainer-node/hostile.test.ts", "of * is a 415 at every route, and nothing ran"],
      [
        "trainer-node/codec/parameters.test.ts",
        "hostile msgpack containers",
        "* with bytes changed anywhere is read or refused, never a failure of ours",
      ],
      ["trainer-node/http/access.test.ts", "refuses * with 401, on its own machine too"],
      [
        "test/fuzz/fuzz.test.ts",
        "no input makes a reader of bytes fail in another way than it may, or a process end, hang or answer with a 500",
      ],
    ],
  },
];

/** What `make security` proves: the checklist S-01 to S-60 and the findings of attacks on a running instance, each with its tests. */
export const SECURITY_ITEMS: readonly SecurityItem[] = [...SURFACE, ...IDENTITY, ...TENANTS, ...OPERATION, ...FINDINGS, ...LATER];
