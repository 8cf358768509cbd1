/** Saves a text as a file of the browser's downloads. */
export function saveText(text: string, { fileName, type }: { fileName: string; type: string }): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(address);
}
