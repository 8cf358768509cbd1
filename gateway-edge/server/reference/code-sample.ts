/** An entry of `x-codeSamples`, which tools for OpenAPI documents show beside an operation. */
export interface CodeSample {
  readonly lang: "Shell" | "Python" | "JavaScript";
  readonly label: "curl" | "Python" | "Node" | "gw";
  readonly source: string;
}
