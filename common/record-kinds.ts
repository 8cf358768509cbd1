/** What holds for all records of a kind. */
interface RecordKindTraits {
  /** Edges work on it in the background: it can be due. */
  readonly isWork?: true;
  /** All of its records expire, and no operation deletes or works on them. */
  readonly onlyExpires?: true;
  /** The bytes of its bodies count for their organization. */
  readonly isCounted?: true;
  /** Clients page through its lists and delete its records: a list goes on after a removed one. */
  readonly isPaged?: true;
}

/** The kinds of records that teams store in the gateway: the one declaration for edges and the control plane. */
const KINDS = {
  answer: { onlyExpires: true },
  assistant: { isPaged: true },
  batch: { isWork: true },
  batch_part: { onlyExpires: true },
  container: { onlyExpires: true },
  conversation: { isCounted: true },
  conversation_item: { isCounted: true, isPaged: true },
  file: { isPaged: true },
  message: { isPaged: true },
  /** Where a removed record was in its list. */
  place: { onlyExpires: true },
  prompt: { isCounted: true, isPaged: true },
  prompt_version: { isCounted: true, isPaged: true },
  response: { isWork: true, isCounted: true },
  response_events: { onlyExpires: true },
  run: { isWork: true },
  run_step: {},
  thread: {},
  vector_store: { isPaged: true },
  vector_store_batch: {},
  vector_store_file: { isWork: true, isPaged: true },
} as const satisfies Readonly<Record<string, RecordKindTraits>>;

export type RecordKind = keyof typeof KINDS;

/** Kinds that edges work on in the background. */
export type WorkKind = { [Kind in RecordKind]: (typeof KINDS)[Kind] extends { isWork: true } ? Kind : never }[RecordKind];

/** The kinds with a trait, sorted. */
export function recordKindsWith(trait: keyof RecordKindTraits): readonly RecordKind[] {
  const kinds: readonly (readonly [string, RecordKindTraits])[] = Object.entries(KINDS);
  return kinds.flatMap(([kind, traits]) => (traits[trait] ? [kind as RecordKind] : [])).sort();
}
