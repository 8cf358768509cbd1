type Pressed = Readonly<Pick<PointerEvent, "button" | "pointerId">>;

/** A press of the primary button that began in this element: other buttons, and releases of a press from elsewhere, are no click. */
export class PrimaryPress {
  #pointer: number | undefined;

  begin({ button, pointerId }: Pressed): boolean {
    if (button !== 0) return false;
    this.#pointer = pointerId;
    return true;
  }

  end({ button, pointerId }: Pressed): boolean {
    const began = this.#pointer === pointerId;
    this.cancel();
    return began && button === 0;
  }

  cancel(): void {
    this.#pointer = undefined;
  }
}
