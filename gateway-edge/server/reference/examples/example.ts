/** What an operation is sent in its samples. IDs of paths are in ids.ts. */
export interface RequestExample {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** The JSON body, or the fields of a form. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** A file of the reader: a field of the form, or with `field` absent the whole body. */
  readonly file?: { readonly field?: string; readonly name: string };
  /** Where the response is written that is no text. */
  readonly save?: string;
  /** The response lasts; it is shown as it arrives. */
  readonly isStream?: true;
  /** The variable with the bearer token, if it is not that of the operation's authentication. */
  readonly credential?: string;
  /** Headers whose values are variables. */
  readonly headers?: Readonly<Record<string, string>>;
}
