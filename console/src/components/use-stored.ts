import { useState } from "react";

/** A value that this browser keeps, such as chosen columns. `read` checks it, because another version may have stored it. */
export function useStored<T>(name: string, read: (stored: unknown) => T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => read(storedValue(name)));
  const change = (next: T) => {
    setValue(next);
    try {
      localStorage.setItem(name, JSON.stringify(next));
    } catch {
      // A browser without storage, or with a full one, keeps the value until the page is left.
    }
  };
  return [value, change];
}

function storedValue(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}
