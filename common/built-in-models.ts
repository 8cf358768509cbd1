/** Share of the 360 images held back that the built-in classifier of digits labels rightly; a test of the node measures it. */
export const DIGITS_ACCURACY = 350 / 360;
