/** The text of an input whose changes are sent with a delay. */
export interface FollowingText {
  readonly text: string;
  /** What was last sent or received. */
  readonly sent: string;
}

/** Takes a value that was changed elsewhere. The value that this input sent itself changes nothing: meanwhile more may be typed. */
export function follow(state: FollowingText, value: string): FollowingText {
  return value === state.sent ? state : { text: value, sent: value };
}
