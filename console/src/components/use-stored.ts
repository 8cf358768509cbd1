import { useState } from "react";
import { readStored, writeStored } from "./stored-value.ts";

/** A value that this browser keeps, such as chosen columns. `read` checks it, because another version may have stored it. */
export function useStored<T>(name: string, read: (stored: unknown) => T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => read(readStored(name)));
  const change = (next: T) => {
    setValue(next);
    writeStored(name, next);
  };
  return [value, change];
}
