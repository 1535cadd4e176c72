const DAY = String.raw`\d{4}-\d{2}-\d{2}`;
const TIME = String.raw`T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?`;
const DATE = new RegExp(`(?<!\\d)(${DAY})(${TIME})?(?![\\d])`);
const AT_START = new RegExp(`^[[(]?${DAY}(?:${TIME})?[\\])]?\\s*(?:[:–—|-]\\s*)?`);
const AT_END = new RegExp(`\\s*[–—-]?\\s*[[(]?${DAY}(?:${TIME})?[\\])]?$`);

/** The first date in a text, as it is written there; null without one that the calendar has. */
export function dateIn(text: string): string | null {
  const [whole, day] = DATE.exec(text.slice(0, 500)) ?? [];
  if (whole === undefined || day === undefined) return null;
  const at = new Date(`${day}T00:00:00Z`);
  const isReal = !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
  return isReal ? (Number.isNaN(Date.parse(whole)) ? day : whole) : null;
}

/** A heading without the date at its beginning or end, when something is left of it. */
export function withoutDate(title: string): string {
  const rest = title.replace(AT_START, '').replace(AT_END, '').trim();
  return rest === '' ? title : rest;
}

export const startsWithDate = (title: string): boolean => AT_START.test(title) && dateIn(title) !== null;
