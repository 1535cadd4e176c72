/** What a tool was given or gave back, as text for a reader: words as they are, values indented. */
export const toldValue = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
