import { Button, FileButton, Group, Image, Textarea } from "@mantine/core";
import { IconPhoto, IconPlayerStop, IconSend } from "@tabler/icons-react";
import { useState } from "react";
import { Card } from "../../components/card.tsx";
import { notifyFailure } from "../../components/failure.tsx";
import { count } from "../../format/text.ts";

interface MessageInputProps {
  isBusy: boolean;
  canSend: boolean;
  onSend: (text: string, images: readonly string[]) => void;
  onStop: () => void;
}

const IMAGE_BYTES_MAX = 4 * 1024 * 1024;

export function MessageInput({ isBusy, canSend, onSend, onStop }: MessageInputProps) {
  const [text, setText] = useState("");
  const [images, setImages] = useState<readonly string[]>([]);
  const isSendable = canSend && !isBusy && text.trim() !== "";
  const ask = () => {
    if (!isSendable) return;
    onSend(text, images);
    setText("");
    setImages([]);
  };
  const add = async (files: File[]) => {
    try {
      setImages([...new Set([...images, ...(await Promise.all(files.map(dataUrl)))])]);
    } catch (error) {
      notifyFailure(error);
    }
  };
  return (
    <Card>
      <Textarea
        aria-label="Your message"
        placeholder="Message to all selected models. Enter sends, Shift+Enter starts a new line."
        autosize
        minRows={1}
        maxRows={10}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          // While an input method composes a word, Enter takes the word.
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          ask();
        }}
      />
      <Group justify="space-between" mt="sm">
        <Group gap="xs">
          <FileButton multiple accept="image/png,image/jpeg,image/webp,image/gif" onChange={(files) => void add(files)}>
            {(props) => (
              <Button {...props} variant="default" size="compact-md" leftSection={<IconPhoto size={16} aria-hidden />}>
                Add images
              </Button>
            )}
          </FileButton>
          {images.map((url) => (
            <Image key={url} src={url} alt="Image with the next message" w={36} h={36} fit="cover" radius="sm" />
          ))}
          {images.length > 0 && (
            <Button variant="subtle" size="compact-sm" onClick={() => setImages([])}>
              Remove {count(images.length, "image")}
            </Button>
          )}
        </Group>
        {isBusy ? (
          <Button color="red" variant="light" leftSection={<IconPlayerStop size={16} aria-hidden />} onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button leftSection={<IconSend size={16} aria-hidden />} onClick={ask} disabled={!isSendable}>
            Send
          </Button>
        )}
      </Group>
    </Card>
  );
}

function dataUrl(file: File): Promise<string> {
  if (file.size > IMAGE_BYTES_MAX) return Promise.reject(new Error(`${file.name} is larger than 4 MiB.`));
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}
