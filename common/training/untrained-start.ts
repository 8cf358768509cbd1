/** The metric of an answer with untrained parameters, so that trained ones are never taken for them. */
export const UNTRAINED_METRIC = "untrained";
