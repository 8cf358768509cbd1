import { type Dump, listOf, readDump } from "./dump.ts";
import { planImport } from "./litellm-plan.ts";

const TOKEN = "a".repeat(64);
const NOW = Date.parse("2026-11-16T00:00:00Z");

const SQL = String.raw`--
COPY public."LiteLLM_BudgetTable" (budget_id, max_budget, tpm_limit, budget_duration) FROM stdin;
b1	25	1000	30d
\.

COPY public."LiteLLM_TeamTable" (team_id, team_alias, max_budget, spend, models, rpm_limit, budget_duration, blocked) FROM stdin;
t1	Research\tlab	100	40.5	{gpt-4o,"claude 4"}	60	\N	f
\.

COPY public."LiteLLM_VerificationToken" (token, key_name, key_alias, spend, expires, models, team_id, blocked, max_budget, budget_id) FROM stdin;
${TOKEN}	sk-...a1b2	prod	1.25	2027-01-01 00:00:00	{all-team-models}	t1	\N	\N	b1
\.
`;
const CSV = {
  LiteLLM_BudgetTable: "budget_id,max_budget,tpm_limit,budget_duration\nb1,25,1000,30d\n",
  LiteLLM_TeamTable:
    'team_id,team_alias,max_budget,spend,models,rpm_limit,budget_duration,blocked\nt1,"Research\tlab",100,40.5,"{gpt-4o,""claude 4""}",60,,f\n',
  LiteLLM_VerificationToken: `token,key_name,key_alias,spend,expires,models,team_id,blocked,max_budget,budget_id\n${TOKEN},sk-...a1b2,prod,1.25,2027-01-01 00:00:00,{all-team-models},t1,,,b1\n`,
};
const JSON_ROWS = {
  LiteLLM_BudgetTable: [{ budget_id: "b1", max_budget: 25, tpm_limit: 1000, budget_duration: "30d" }],
  LiteLLM_TeamTable: [
    {
      team_id: "t1",
      team_alias: "Research\tlab",
      max_budget: 100,
      spend: 40.5,
      models: ["gpt-4o", "claude 4"],
      rpm_limit: 60,
      blocked: false,
    },
  ],
  LiteLLM_VerificationToken: [
    {
      token: TOKEN,
      key_name: "sk-...a1b2",
      key_alias: "prod",
      spend: 1.25,
      expires: "2027-01-01T00:00:00Z",
      models: ["all-team-models"],
      team_id: "t1",
      blocked: null,
      max_budget: null,
      budget_id: "b1",
    },
  ],
};
const FORMS: readonly (readonly [string, { name: string; text: string }[]])[] = [
  ["a file of pg_dump", [{ name: "dump.sql", text: SQL }]],
  ["a CSV file for each table", Object.entries(CSV).map(([table, text]) => ({ name: `${table}.csv`, text }))],
  ["a JSON file", [{ name: "dump.json", text: JSON.stringify(JSON_ROWS) }]],
  [
    "lines of JSON for each table",
    Object.entries(JSON_ROWS).map(([table, rows]) => ({
      name: `${table}.jsonl`,
      text: [...rows, ...rows].map((row) => JSON.stringify(row)).join("\n"),
    })),
  ],
];

test.each(FORMS)(
  "%s: teams with what is left of their budget, keys by hash with the limits of their budget row and their spend",
  (_form, files) => {
    const { teams, keys, notes } = planImport(readDump(files), NOW);
    const limits = { models: ["gpt-4o", "claude 4"], rpm: 60, maxBudget: 59_500_000_000 };
    expect(teams[0]).toEqual({ from: "t1", name: "Research lab", limits });
    expect(keys[0]).toEqual({
      team: "t1",
      name: "prod",
      sha256: TOKEN,
      maskedKey: "sk-...a1b2",
      spend: 1_250_000_000,
      expiresAt: "2027-01-01T00:00:00.000Z",
      limits: { tpm: 1000, maxBudget: 25_000_000_000, budgetPeriod: "monthly" },
    });
    expect(notes[0]).toEqual({ subject: "team Research lab", note: "spent $40.50 of its budget of $100.00; the rest is its budget here" });
  },
);

const dump = (tables: Partial<Dump>): Dump => ({
  LiteLLM_TeamTable: [],
  LiteLLM_VerificationToken: [],
  LiteLLM_BudgetTable: [],
  ...tables,
});

test("what cannot be carried over is named: blocked and expired keys, odd tokens, missing teams, other periods", () => {
  const key = (fields: object) => ({ token: TOKEN, key_alias: "k", spend: 0, models: [], ...fields });
  const plan = planImport(
    dump({
      LiteLLM_VerificationToken: [
        key({ key_alias: "blocked", blocked: true }),
        key({ key_alias: "old", expires: "2026-01-01T00:00:00Z" }),
        key({ key_alias: "plain", token: "sk-1234" }),
        key({ key_alias: "lost", team_id: "gone", max_budget: 1, budget_duration: "3h" }),
      ],
    }),
    NOW,
  );
  expect(plan.teams).toEqual([{ from: "", name: "LiteLLM", limits: {} }]);
  expect(plan.keys).toMatchObject([{ name: "lost", team: "", limits: { maxBudget: 1_000_000_000 } }]);
  expect(plan.notes.map(({ subject, note }) => `${subject}: ${note}`)).toEqual([
    "key blocked: is not imported: it is blocked",
    "key old: is not imported: it has expired",
    "key plain: is not imported: its token is not a SHA-256",
    "key lost: its team gone is not in the dump; it joins the team LiteLLM",
    "key lost: its budget has the period 3h; here it has none",
  ]);
});

test("no right grows: what is closed there is left out, keys of closed teams too; a name for all models is no list", () => {
  const key = (key_alias: string, fields: object) => ({ token: TOKEN, key_alias, models: [], ...fields });
  const plan = planImport(
    dump({
      LiteLLM_TeamTable: [
        { team_id: "t1", team_alias: "closed", blocked: true, models: [] },
        { team_id: "t2", team_alias: "none", models: ["no-default-models"] },
        { team_id: "t3", team_alias: "open", models: ["gpt-4o", "all-proxy-models"] },
      ],
      LiteLLM_VerificationToken: [
        key("of-closed", { team_id: "t1" }),
        key("of-none", { team_id: "t2", models: ["gpt-4o"] }),
        key("without", { team_id: "t3", models: ["no-default-models"] }),
        key("both", { team_id: "t3", models: ["no-default-models", "all-team-models"] }),
        key("all", { team_id: "t3", models: ["gpt-4o", "all-team-models"] }),
        key("listed", { team_id: "t3", models: ["all-MiniLM-L6-v2"] }),
      ],
    }),
    NOW,
  );
  expect(plan.teams).toEqual([{ from: "t3", name: "open", limits: {} }]);
  expect(plan.keys.map(({ name, team, limits }) => [name, team, limits])).toEqual([
    ["all", "t3", {}],
    ["listed", "t3", { models: ["all-MiniLM-L6-v2"] }],
  ]);
  expect(plan.notes.map(({ subject, note }) => `${subject}: ${note}`)).toEqual([
    "team closed: is not imported: it is blocked",
    "team none: is not imported: it may call no model (no-default-models)",
    "key of-closed: is not imported: its team is blocked",
    "key of-none: is not imported: its team may call no model (no-default-models)",
    "key without: is not imported: it may call no model (no-default-models)",
    "key both: is not imported: it may call no model (no-default-models)",
  ]);
});

test("names are such as the platform takes: printable, not empty, not too long, and teams differ in them", () => {
  const [long, cut] = ["x".repeat(120), `${"x".repeat(99)}\u{1F600}`];
  const row = (team_id: string, team_alias: unknown) => ({ team_id, team_alias, models: [] });
  const plan = planImport(
    dump({
      LiteLLM_TeamTable: [
        row("t1", " a\nb "),
        row("t2", "\t "),
        row("t3", long),
        row("t4", "Same"),
        row("t5", "same"),
        row("t6", "litellm"),
      ],
      LiteLLM_VerificationToken: [
        { token: TOKEN, key_alias: cut, models: [] },
        { token: TOKEN, key_alias: " ", key_name: "sk-...abcd", models: [] },
        { token: TOKEN, models: [] },
      ],
    }),
    NOW,
  );
  const names = ["a b", "t2", "x".repeat(100), "Same (t4)", "same (t5)", "litellm (t6)", "LiteLLM"];
  expect(plan.teams.map(({ name }) => name)).toEqual(names);
  expect(plan.keys.map(({ name }) => name)).toEqual(["x".repeat(99), "sk-...abcd", "aaaaaaaa"]);
  expect(plan.notes).toEqual(
    ["Same (t4)", "same (t5)", "litellm (t6)"].map((name) => ({
      subject: `team ${name}`,
      note: "another team has the same alias, so its id is in its name here",
    })),
  );
});

const expiring = (expires: unknown) =>
  planImport(dump({ LiteLLM_VerificationToken: [{ token: TOKEN, key_alias: "k", models: [], expires }] }), NOW);

test.each([
  ["2027-01-01 02:00:00", "2027-01-01T02:00:00.000Z"],
  ["2027-01-01 02:00:00.123", "2027-01-01T02:00:00.123Z"],
  ["2027-01-01T02:00:00Z", "2027-01-01T02:00:00.000Z"],
  ["2027-01-01T02:00:00+00:00", "2027-01-01T02:00:00.000Z"],
  ["2027-01-01 02:00:00.5-03:30", "2027-01-01T05:30:00.500Z"],
  ["2027-01-01 02:00:00+02", "2027-01-01T00:00:00.000Z"],
  ["2027-01-01", "2027-01-01T00:00:00.000Z"],
])("an expiry of %s is %s", (expires, at) => {
  expect(expiring(expires).keys).toMatchObject([{ expiresAt: at }]);
});

test.each(["soon", "2027-13-01 00:00:00", "infinity"])("a key whose expiry cannot be read is left out: %s", (expires) => {
  const { keys, notes } = expiring(expires);
  expect([keys, notes]).toEqual([[], [{ subject: "key k", note: `is not imported: its expiry ${expires} is not a date` }]]);
});

test("lists of PostgreSQL", () => {
  expect([listOf("{}"), listOf('{a,"b,c","d\\"e"}'), listOf(["x"]), listOf(null)]).toEqual([[], ["a", "b,c", 'd"e'], ["x"], []]);
});
