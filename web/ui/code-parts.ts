/** Splits a sentence into plain text and code between backticks. A single backtick stays text. */
export function codeParts(text: string): { text: string; isCode: boolean }[] {
  return text
    .split(/`([^`\n]+)`/)
    .map((part, index) => ({ text: part, isCode: index % 2 === 1 }))
    .filter(part => part.text !== '');
}
