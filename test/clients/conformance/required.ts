/** The cases that `make test-clients` must have run, by the clients that run them. A case that has no result is a failure. */
const BY_CLIENTS: readonly (readonly [clients: readonly string[], ids: string])[] = [
  [
    ["openai-node", "openai-python"],
    "A1 A2 A5 A7 A8 A10 A13 B1 B2 B4 B5 B7 B8 B10 B11 B13 B14 B16 B17 B19 B20 B22 B23 B29 C1 C2 C4 C5 C7 C8 C10 C11 C13 C14 C16 C17 C19 C20 C22 C28 C29 D1 D2 D4 D5 E5 E10 E11 E13 F1 F2 F4 F5 F7 F8 F10 F11 G1 G2 G4 G5 G7 G8 G10 G11 G13 G14 G16 H1 H2 H4 H5 H13 R1 R2 R4 R5 R7 R8 R10 R11",
  ],
  [["curl"], "A4 A11 F13 U1 U2 U4 U5"],
  [["ai-sdk"], "B25 B26 C23 E4"],
  [["litellm"], "B28"],
  [["langchain"], "C25 C26 D7 E7 E8 H7"],
  [["openai-node"], "E1"],
  [["openai-python"], "E2"],
  [["anthropic-node", "anthropic-node-0"], "H8 H10 H11"],
];

interface Ran {
  readonly id?: string | undefined;
  readonly client: string;
}

/** The required cases without a result. */
export function missingCases(results: readonly Ran[]): { id: string; client: string }[] {
  const ran = new Set(results.map(({ id, client }) => `${id} ${client}`));
  const required = BY_CLIENTS.flatMap(([clients, ids]) => ids.split(" ").flatMap((id) => clients.map((client) => ({ id, client }))));
  return required.filter(({ id, client }) => !ran.has(`${id} ${client}`));
}
