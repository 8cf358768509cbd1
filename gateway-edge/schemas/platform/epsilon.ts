/** What epsilon says, for the API reference. */
export const EPSILON_IS =
  "Spent so far, for the presence or absence of one participant's update in each round (add/remove adjacency, with the sensitivity clipNorm). An update that is replaced by another one moves up to twice as far.";
