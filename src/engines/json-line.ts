/** A JSON object of unknown shape, as an agent CLI printed it. */
export type Fields = Readonly<Record<string, unknown>>;

const NONE: Fields = {};

/** The object on a line, or null: half a line, a banner and a bare number are output like any other. */
export function fieldsOf(line: string): Fields | null {
  if (!line.trimStart().startsWith('{')) return null;
  try {
    return JSON.parse(line) as Fields;
  } catch {
    return null;
  }
}

// A CLI may change a field's type with any release: what is not what it should be counts as absent.
export const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
export const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
/** What was counted or paid: never less than nothing, or it would make up for what others used. */
export const amount = (value: unknown): number | null => {
  const figure = number(value);
  return figure === null || figure < 0 ? null : figure;
};
export const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NONE;
export const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields) : []);

/** The sum of the figures that are there; null when none is. */
export function sum(...figures: (number | null)[]): number | null {
  const known = figures.filter(figure => figure !== null);
  const total = known.reduce((sum, figure) => sum + figure, 0);
  return known.length === 0 || !Number.isFinite(total) ? null : total;
}
