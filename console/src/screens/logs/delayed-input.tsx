import { TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import { type FollowingText, follow } from "./following-text.ts";

interface DelayedInputProps extends Pick<TextInputProps, "placeholder" | "leftSection" | "w" | "aria-label"> {
  value: string | undefined;
  delayMs: number;
  onChange: (value: string | undefined) => void;
}

/** An input that stays in place, with its focus, when the address has its text. */
export function DelayedInput({ value = "", delayMs, onChange, ...shown }: DelayedInputProps) {
  const [own, setOwn] = useState<FollowingText & { readonly value: string }>({ text: value, sent: value, value });
  if (own.value !== value) setOwn({ ...follow(own, value), value });
  const send = useDebouncedCallback((text: string) => {
    setOwn((before) => ({ ...before, sent: text }));
    onChange(text || undefined);
  }, delayMs);
  const change = (text: string) => {
    setOwn((before) => ({ ...before, text }));
    send(text);
  };
  return <TextInput {...shown} value={own.text} onChange={(event) => change(event.currentTarget.value)} />;
}
