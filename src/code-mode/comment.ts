/** A description as a comment above what it describes. What a server writes there stays inside it. */
export function commentOf(text: unknown, indent: string): string {
  if (typeof text !== 'string' || text.trim() === '') return '';
  const lines = text.trim().split(LINE_END).map(clean);
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  const body = lines.map(line => `${indent} * ${line}`.trimEnd());
  return `${[`${indent}/**`, ...body, `${indent} */`].join('\n')}\n`;
}

/** Every one that JavaScript knows, and a few that editors do. */
const LINE_END = /\r\n|[\n\r\u2028\u2029\u0085\v\f]/;

const clean = (line: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is taken out
  line.replaceAll(/[\x00-\x08\x0e-\x1f\x7f]/g, '').replaceAll('*/', '* /');
