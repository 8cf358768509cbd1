/** Accuracy of the built-in digits classifier on its 360 held-out images; a test of the trainer node measures it. */
export const DIGITS_ACCURACY = 350 / 360;
