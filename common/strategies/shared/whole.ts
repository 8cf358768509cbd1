/** Far below the smallest step of a share of participants, and far above the error of a product of floats. */
const ROUNDING = 1e-9;

/** The least whole number that is not below a product or quotient, as 7 for 0.07 · 100, which is 7.000000000000001 in floats. */
export const wholeUp = (value: number): number => Math.ceil(value - ROUNDING);

/** The greatest whole number that is not above it, as 29 for 0.29 · 100, which is 28.999999999999996 in floats. */
export const wholeDown = (value: number): number => Math.floor(value + ROUNDING);
