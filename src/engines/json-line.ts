/** A JSON object of unknown shape that an agent CLI printed. */
export type Fields = Readonly<Record<string, unknown>>;

const NONE: Fields = {};

/** Parses the JSON object on a line. Null for other output, such as a partial line, a banner or a number. */
export function fieldsOf(line: string): Fields | null {
  if (!line.trimStart().startsWith('{')) return null;
  try {
    return JSON.parse(line) as Fields;
  } catch {
    return null;
  }
}

// A CLI may change the type of a field with any release. A field of the wrong type counts as absent.
export const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
export const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
/** A token count or a cost. Negative figures are dropped, because they would reduce totals. */
export const amount = (value: unknown): number | null => {
  const figure = number(value);
  return figure === null || figure < 0 ? null : figure;
};
export const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NONE;
export const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields) : []);

/** Sum of the known figures. Null if none is known. */
export function sum(...figures: (number | null)[]): number | null {
  const known = figures.filter(figure => figure !== null);
  const total = known.reduce((sum, figure) => sum + figure, 0);
  return known.length === 0 || !Number.isFinite(total) ? null : total;
}
