import type { SecurityItem } from "../../scripts/security/check-items.ts";
import { BROWSER, EXPOSED, GENERAL, HOSTILE, INFERENCE, NODE_PROXY, RUNNING } from "./test-files.ts";

/** What reaches the processes from outside: requests, addresses, headers, browsers. */
export const SURFACE: readonly SecurityItem[] = [
  {
    id: "S-01",
    guarantee: "a client cannot choose where its call goes unless the operator allows it, and never where the provider's key goes",
    tests: [
      [
        "gateway-edge/server/http/testing/client-params.test.ts",
        "* at a client's address: nothing of the operator is sent there, with a key of the client and without",
        "* at a client's address has the client's key alone",
        "a parameter that no deployment of the model lists, as for models that list none; nothing is reserved or called",
      ],
      [INFERENCE, "where a call goes is not the client's to say"],
      ["gateway-edge/schemas/calls/chat.test.ts", "api_* is not a client's business"],
    ],
  },
  {
    id: "S-02",
    guarantee: "addresses of the operator's network are refused in every spelling",
    tests: [
      ["common/place.test.ts", "ssrf: * is private"],
      [EXPOSED, "exposed by *: addresses of the operator's network are refused, and its nodes are not shared"],
      [
        "control-plane/services/training/node-names.test.ts",
        "ssrf: a name of which one address is private is refused by its place in the request",
      ],
      ["control-plane/webhooks/send-webhook.test.ts", "the address * leads nowhere"],
      ["gateway-edge/server/http/mcp/mcp.test.ts", "ssrf: a private address is refused when exposed, also if it was registered before"],
      ["control-plane/services/catalog/merged-catalog.test.ts", "* at * is refused"],
      [
        "gateway-edge/server/http/testing/client-params.test.ts",
        "*: exposed, a private address, also that of a deployment, and a name that resolves to one",
      ],
    ],
  },
  {
    id: "S-03",
    guarantee: "a name that turns to a private address after it was checked is not connected to",
    tests: [
      [
        "gateway-edge/upstream/transports/upstream-guard.test.ts",
        "ssrf: a name that is rebound between two connections is refused with the second",
      ],
      ["common/outbound.test.ts", "ssrf: a name that changes its address after a call is judged again with its next connection"],
      ["control-plane/webhooks/send-webhook.test.ts", "a name is looked up once and the connection goes to the address that was judged"],
      [
        "trainer-node/coordinator/participants/node-call.test.ts",
        "ssrf: a participant's name that leads to a private address is not connected to, whatever it led to before",
      ],
      [
        "trainer-node/operations/remote-dataset.test.ts",
        "a public name that leads to a private address is refused, a metadata service always; so is what is too long or too slow",
      ],
    ],
  },
  {
    id: "S-04",
    guarantee: "redirects of upstreams, webhooks and data sets are not followed",
    tests: [
      ["gateway-edge/upstream/transports/send-http.test.ts", "redirects are answers, not orders"],
      ["control-plane/webhooks/send-webhook.test.ts", "a redirect is an answer, not a way to go"],
      [
        "trainer-node/operations/remote-dataset.test.ts",
        "a redirect is not followed, and refusals and truncated answers of the server are reported",
      ],
    ],
  },
  {
    id: "S-05",
    guarantee: "certificates of upstreams are verified, whatever the environment says",
    tests: [
      [
        "gateway-edge/upstream/transports/http1/connection-tls.test.ts",
        "an untrusted certificate is refused, whatever the environment says",
      ],
      ["common/exposed.test.ts", "an exposed process does not start with unverified certificates, and says what to do instead"],
    ],
  },
  {
    id: "S-06",
    guarantee: "upstreams, pass-through and nodes get no credential, cookie or forwarding header of a caller",
    tests: [
      ["gateway-edge/upstream/transports/send-http.test.ts", "only what the adapter built is sent; status, headers and bytes come back"],
      [
        "gateway-edge/calls/pass-through/pass-through.test.ts",
        "a call goes on with our key and without the client's, and comes back as it is; paid by the usage in it",
      ],
      [RUNNING, "S-06: gets no credential, cookie or forwarding header of its caller"],
    ],
  },
  {
    id: "S-07",
    guarantee: "a key that is none is refused before anything is looked up, always with the same 401",
    tests: [
      [INFERENCE, "answers the same 401 to keys that are missing, ill-formed, unknown, removed, expired, or a platform token"],
      [
        "gateway-edge/server/http/routes.test.ts",
        "one lookup for each known key, none for a malformed one; a revoked key is refused, and a blocked team gets its own error",
      ],
      ["common/key-shape.test.ts", "a text that is not a minted key has no key shape"],
    ],
  },
  {
    id: "S-08",
    guarantee: "database operators in any field are refused, and nothing is made of them",
    tests: [[HOSTILE, "*: every field of the body", "*: every field of the query"]],
  },
  {
    id: "S-09",
    guarantee: "no body reaches a prototype",
    tests: [
      [HOSTILE, "*: the body as a whole", "hostile chat requests are refused or answered, never broken"],
      [
        "gateway-edge/upstream/routing/model-names.test.ts",
        "disabled models cannot be called; names of objects' own methods are no models",
      ],
      [RUNNING, "S-54: services run without __proto__ and without an inspector, also after SIGUSR1"],
    ],
  },
  {
    id: "S-10",
    guarantee: "bodies have limits of depth and size, and beyond them a 4xx",
    tests: [
      [HOSTILE, "*: the body as a whole"],
      [INFERENCE, "*: bad JSON is 400 invalid_json, a wrong type 415, too much 413"],
      [GENERAL, "* refuses bodies that are broken, too large, or no JSON"],
      ["trainer-node/stream/stream.test.ts", "depth and the size beside the runs have limits"],
    ],
  },
  {
    id: "S-11",
    guarantee: "forms have limits of parts and sizes, and file names no path",
    tests: [
      [RUNNING, "S-11: forms"],
      ["gateway-edge/server/http/files/files.test.ts", "an invalid upload gets an error that says why, and nothing of it is stored"],
    ],
  },
  {
    id: "S-12",
    guarantee: "compressed bodies are refused by the edge, and by the trainer beyond a ratio and a size",
    tests: [
      [GENERAL, "* refuses bodies that are broken, too large, or no JSON"],
      [
        "trainer-node/http/gzip-body.test.ts",
        "a bomb is a 413 before it is unpacked: by its ratio, and by the size it comes to",
        "other encodings are a 415",
      ],
    ],
  },
  {
    id: "S-13",
    guarantee: "base64 is measured before it is decoded",
    tests: [
      ["trainer-node/stream/stream.test.ts", "a part beyond its limit is a 413 before it is held"],
      ["trainer-node/app.test.ts", "a body at the limit is read, one byte more is a 413 with limit and size, announced or not"],
    ],
  },
  {
    id: "S-14",
    guarantee: "no regular expression takes more than linear time on input",
    tests: [
      [
        "test/security/regexes.test.ts",
        "S-14: no expression in the source takes more than linear time, whatever the text",
        "S-14: the lists of checked expressions name only what is in the source",
        "S-14: every file that makes expressions from text is listed with whose text it is",
      ],
    ],
  },
  {
    id: "S-15",
    guarantee: "requests that two HTTP readers could understand differently are refused, and nothing after them is answered",
    tests: [[RUNNING, "S-15: * refuses every ambiguous request, ends the connection, and answers nothing after it"]],
  },
  { id: "S-16", guarantee: "no name can split an answer's headers", tests: [[RUNNING, "S-16: line breaks in names"]] },
  {
    id: "S-17",
    guarantee: "no text of a caller can forge a log line",
    tests: [[RUNNING, "S-17: text of callers cannot end a log line or reach a terminal: every line of every process is one JSON object"]],
  },
  {
    id: "S-18",
    guarantee: "every answer has its content type and nosniff",
    tests: [
      [
        RUNNING,
        "S-18, S-20: every described operation answers with a content type that browsers do not guess, and no page of another origin may read it",
        "S-18, S-20, S-21: its page is a download in a sandbox that no other origin may read",
      ],
      [NODE_PROXY, "what a node calls * is passed on as *"],
    ],
  },
  {
    id: "S-19",
    guarantee: "only described methods are answered; TRACE and CONNECT are not",
    tests: [
      [HOSTILE, "TRACE: refused, no leak, and the server lives on", "CONNECT: refused, no leak, and the server lives on"],
      [GENERAL, "another method on a known path is 405 and names the right ones; OPTIONS names them too"],
      [INFERENCE, "other methods are 405 with Allow, other paths 404, each in the gateway's shape with both ids"],
      ["trainer-node/app.test.ts", "*: OPTIONS is 204 and invites no web page; other methods are 405 with Allow"],
    ],
  },
  {
    id: "S-20",
    guarantee: "pages of other origins may read nothing",
    tests: [
      [
        RUNNING,
        "S-18, S-20: every described operation answers with a content type that browsers do not guess, and no page of another origin may read it",
        "S-20: a preflight of a page of another origin is not answered with a permission",
        "S-18, S-20, S-21: its page is a download in a sandbox that no other origin may read",
      ],
      ["gateway-edge/app.test.ts", "only listed origins are allowed"],
    ],
  },
  {
    id: "S-21",
    guarantee: "pages run no inline scripts and cannot be framed; what a node answers is in a sandbox",
    tests: [
      [
        "gateway-edge/server/http/console/console.test.ts",
        "the page may run scripts of its own origin and none inline, and may not be framed",
      ],
      [BROWSER, "the page's policy refuses an inline script, should one ever get in"],
      ["test/contract/openapi.test.ts", "/docs is one HTML page without scripts or anything from elsewhere, under a strict policy"],
      [RUNNING, "S-18, S-20, S-21: its page is a download in a sandbox that no other origin may read"],
    ],
  },
  {
    id: "S-22",
    guarantee: "names and model output stay text in the console",
    tests: [[BROWSER, "names and model output that are scripts stay text on every screen that shows them"]],
  },
  {
    id: "S-23",
    guarantee: "the session is a __Host- cookie that no other site's page can use, and no node is reached by it",
    tests: [
      [
        "gateway-edge/server/http/console/console.test.ts",
        "the session is a __Host- cookie no script can read; over https there is no other",
        "a session is neither opened, lengthened nor ended by *",
        "over https a planted plain cookie is not a session",
      ],
      [BROWSER, "another site can neither write with a visitor's session nor log a visitor in"],
      [RUNNING, "S-23: is not reached by the console's cookie"],
    ],
  },
  {
    id: "S-24",
    guarantee: "browsers stay with https, and store and frame no answer",
    tests: [
      [RUNNING, "S-24: over https, and only there, browsers are told to stay with it; no answer is stored or framed"],
      ["gateway-edge/app.test.ts", "responses have the headers a browser needs and no others"],
    ],
  },
];
