import type { SecurityItem } from "../../scripts/security/check-items.ts";
import { ACCOUNT, BROWSER, EXPOSED, HOSTILE, INVITATIONS, LOGIN, NODE_PROXY } from "./test-files.ts";

/** Findings of the attack on a running instance. */
export const FINDINGS: readonly SecurityItem[] = [
  {
    id: "F1",
    guarantee: "a stranger's node cannot act in the console's origin",
    tests: [
      [NODE_PROXY, "a page that a node answers with is a download in a sandbox, and nothing that it says to browsers is passed on"],
      [NODE_PROXY, "the console's cookie does not open a node; a token or a key does"],
      [BROWSER, "F1: an admin opens the link of a stranger's node: the admin stays admin, the stranger stays a stranger"],
      [
        "gateway-edge/calls/pass-through/pass-through.test.ts",
        "a page of a provider is a download in a sandbox, and so is a refusal of the gateway",
      ],
    ],
  },
  {
    id: "F2",
    guarantee: "a tenant reaches no address of the operator's network, and is no operator of the shared trainer",
    tests: [
      [EXPOSED, "exposed by *: addresses of the operator's network are refused, and its nodes are not shared"],
      [
        "test/e2e/training/shared-trainer.test.ts",
        "the operator's trainer under the name * keeps tenants apart as under its own",
        "every call to a node says whose it is: through the edge and from the coordinator",
        "a process of this machine without the trainer's token is no organization and not the operator",
      ],
    ],
  },
  {
    id: "F3",
    guarantee: "the control plane answers no stranger, and does not listen on a network without certificates",
    tests: [
      ["control-plane/server.test.ts", "* is refused by every method of every service but the health check"],
      ["test/e2e/listening.test.ts", "* refuses to go beyond loopback with *, and says how to do it"],
    ],
  },
  {
    id: "F4",
    guarantee: "an invited address alone joins nothing",
    tests: [
      [INVITATIONS, "with the invited address but without the token joins nothing", "with another's token or a wrong one makes no account"],
    ],
  },
  {
    id: "F5",
    guarantee: "one key's max_tokens cannot stop its organization",
    tests: [
      ["test/contract/output-limits.test.ts", "another key of the organization goes on calling, and nothing is answered with 500"],
      [
        "gateway-edge/credit/lease-book.test.ts",
        "whatever calls may cost, and however many come at once, a lease asks for amounts that a message can carry",
      ],
    ],
  },
  {
    id: "F6",
    guarantee: "where money is real there are no test credits",
    tests: [
      ["test/contract/payments.test.ts", "where cards are paid with there are no test credits, and a purchase without a method is by card"],
      [EXPOSED, "test credits"],
    ],
  },
  {
    id: "F7",
    guarantee: "of parallel guesses at a password no more are checked than of others",
    tests: [[LOGIN, "of eighty wrong passwords at once ten are checked and the rest wait; the person gets in from elsewhere"]],
  },
  {
    id: "F8",
    guarantee: "TRAINER_SECRET guards every route but /health and /ready, and a restart opens nothing",
    tests: [
      [
        "trainer-node/http/signed-call.test.ts",
        "F8: every route but /health and /ready is refused without a signature or the token",
        "a call that was accepted before a restart is refused after it, and a new signature is accepted",
      ],
    ],
  },
  {
    id: "F9",
    guarantee: "a web page cannot call a node on its visitor's machine",
    tests: [
      [
        "trainer-node/http/access.test.ts",
        "F9: a node on loopback without a token or secret",
        "refuses pages of other sites, whatever they carry",
      ],
    ],
  },
  {
    id: "F10",
    guarantee: "the keys of a removed member end within a second",
    tests: [["test/contract/removed-member.test.ts", "*"]],
  },
  {
    id: "F11",
    guarantee: "what a new account gets for free is limited",
    tests: [
      [LOGIN, "an address on an exposed deployment gets its hourly *, then 429 with retry-after"],
      ["control-plane/services/records/file-bytes.test.ts", "parallel uploads whose size is * cannot pass the limit together"],
      [
        "test/e2e/training/shared-trainer.test.ts",
        "parallel uploads of one organization stay within its limit, at the coordinator and on the shared node; others have their own",
      ],
    ],
  },
  {
    id: "F12",
    guarantee: "a refused upload is not read on",
    tests: [
      ["test/e2e/unread-body.test.ts", "* takes little of a gigabyte from a caller without a key, and hangs up"],
      ["common/unread-body.test.ts", "*"],
    ],
  },
  {
    id: "F13",
    guarantee:
      "a provider's name that leads to a private address is refused when it is connected to, and every other connection has the same guard",
    tests: [
      [
        "gateway-edge/upstream/transports/upstream-guard.test.ts",
        "ssrf: a provider's name that resolves to a private address, alone or beside a public one, is refused, and nothing is sent",
        "ssrf: private addresses as numbers are refused too, and link-local ones even where private ones are allowed",
      ],
      ["scripts/tidy/tidy.test.ts", "connections are opened through the guard, but for the files that say why"],
    ],
  },
  {
    id: "F14",
    guarantee: "a participant reads no blob of another tenant's federation",
    tests: [
      ["trainer-node/coordinator/blobs/blob-routes.test.ts", "reads the parameters that its task names, and nothing else that is here"],
      [
        "trainer-node/coordinator/blobs/copies/copies.test.ts",
        "a blob that one of them made and copied is read by the other, by its hash, and by no other tenant",
      ],
      [
        "test/e2e/training/shared-trainer.test.ts",
        "what a federation made is its organization's: not another's, and not that of another federation's participant",
      ],
      [
        "trainer-node/http/tenant.test.ts",
        "a blob is there for the tenant that stored it and for the operator; for others its hash is worth nothing",
      ],
    ],
  },
  {
    id: "F15",
    guarantee: "invitations do not tell who has an account, and weak passwords are refused",
    tests: [
      [INVITATIONS, "an address with an account and one without get the same answer: an invitation, a link, and no name or user id"],
      ["control-plane/services/identity/service.test.ts", "a sign-up with * is refused"],
    ],
  },
  {
    id: "F16",
    guarantee: "events of the future, ended tokens, two hosts, endless streams and absurd usage are refused",
    tests: [
      ["control-plane/payments/stripe.test.ts", "only what Stripe signed, in the last minutes, is believed"],
      [ACCOUNT, "a refresh ends the token before it; whoever uses that one ends the session, and only this session"],
      [HOSTILE, "two hosts: refused, no leak, and the server lives on"],
      ["trainer-node/http/access.test.ts", "two hosts are refused, whichever comes first"],
      ["gateway-edge/server/http/models/model-info.test.ts", "addresses of the operator are for the master key alone"],
      [
        "gateway-edge/calls/pass-through/pass-through.test.ts",
        "objects of the provider account, which all tenants share, are for the master key, and for others if the operator says so",
      ],
      [
        "gateway-edge/upstream/routing/health.test.ts",
        "a 403 or 404 that one tenant's requests cause does not rest a deployment that answers others",
      ],
      [
        "gateway-edge/server/http/testing/unread-streams.test.ts",
        "*: * clients that read nothing of a flood cost at most 256 KiB each, are cut in time, and pay for what left the gateway",
      ],
      ["trainer-node/codec/parameters.test.ts", "nesting of 200,000 lists is a 422, not a dead thread"],
      [
        "gateway-edge/server/http/testing/stream-limit.test.ts",
        "*: a stream that goes on beyond the agreed limit ends there, well-formed, and is billed for what was delivered",
      ],
    ],
  },
];

/** Findings after it. */
export const LATER: readonly SecurityItem[] = [
  {
    id: "N1",
    guarantee: "a signature covers everything that decides what is done",
    tests: [
      [
        "trainer-node/http/signed-call.test.ts",
        "N1: the fields of an octet call are signed: with another seed, type, tenant or key it is refused, and nothing is used up",
      ],
    ],
  },
  {
    id: "N2",
    guarantee: "a stream's text is not kept until its end",
    tests: [
      [
        "gateway-edge/server/http/testing/long-streams.test.ts",
        "*: of a stream of 64 MB no more than a small part is in memory at any time",
      ],
      ["gateway-edge/calls/tokens/counted-text.test.ts", "of a long text only a bounded rest is held, and the count is that of the whole"],
    ],
  },
  {
    id: "N3",
    guarantee: "usage that cannot be true is replaced by our own count",
    tests: [["gateway-edge/server/http/testing/absurd-usage.test.ts", "usage that cannot be true is not believed: *"]],
  },
  {
    id: "N4",
    guarantee: "federations and models name only blobs of their own organization",
    tests: [
      [
        "test/e2e/training/shared-trainer.test.ts",
        "an organization reads, publishes and deletes what it uploaded; for others it is not there",
        "a hash that nothing is stored under is not published, nor what only another organization has on the shared node",
      ],
      [
        "control-plane/services/training/service.test.ts",
        "are an organization's if its federations made them, and a participant's if they are results or its own updates",
      ],
    ],
  },
  {
    id: "N5",
    guarantee: "a client names nothing that a provider reads with the operator's credentials",
    tests: [
      [
        "gateway-edge/upstream/providers/open-references.test.ts",
        "*: a reference that the provider would read as the operator never reaches it, in any part of a message",
        "*: nor in a message to count",
        "*: nor in a message that passes unchanged",
        "*: nor in a response that passes unchanged",
        "Google's own contents to count, and what servers of OpenAI's API take beside a chat, name no such objects either",
      ],
      [
        "gateway-edge/server/http/calls/operator-objects.test.ts",
        "*: an address that the provider reads as the operator is refused at every model, passed or translated",
        "indexes that Azure reads as the operator are the operator's to name: a client's are refused in every API, a deployment's are sent",
      ],
      [
        "gateway-edge/calls/pass-through/pass-through.test.ts",
        "nothing that is the operator's or is billed at other prices than the model's, but for admins",
      ],
    ],
  },
  {
    id: "N6",
    guarantee: "a container in which a provider runs code is named only by the team that its answers went to",
    tests: [
      [
        "gateway-edge/server/http/calls/containers.test.ts",
        "a container that an answer to the team had can be named again, by tools and input items; an unknown one is a 404 and costs nothing",
        "items of a conversation name only containers of the team, in either field",
        "the container of a message belongs to the team that got it, whole and streamed",
        "an API whose answers name no container takes no id of one, for any model; skills without an id pass",
      ],
    ],
  },
  {
    id: "N7",
    guarantee: "nothing that a client's JSON schema says holds up or ends an edge",
    tests: [
      [
        "gateway-edge/calls/schema-checks/schema-checks.test.ts",
        "a schema that * is refused at once, before it is compiled",
        "a schema that calls itself asynchronous is checked as any other: of a promise every answer would match, and the process could end",
        "a check that takes too long ends, uses next to nothing of the event loop's time, and the thread serves others after it",
        "organizations take turns: many slow checks of one delay a check of another by one of them",
      ],
      [
        "gateway-edge/server/http/testing/schema-calls.test.ts",
        "a schema that * is a 400 at once, before anything is spent, and holds up no other call",
        "an answer whose check does not end in time is a documented 500, is billed once, asked for once, and holds up no other call",
      ],
    ],
  },
];
