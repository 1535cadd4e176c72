/** A sentence of ours in its parts: words, and what is between backticks. A backtick alone is one. */
export function codeParts(text: string): { text: string; isCode: boolean }[] {
  return text
    .split(/`([^`\n]+)`/)
    .map((part, index) => ({ text: part, isCode: index % 2 === 1 }))
    .filter(part => part.text !== '');
}
