import { startOfDay } from './budget.ts';

/** The days up to today in the user's own time, oldest first, each by its first moment. Not every day has 24 hours. */
export function lastDays(now: number, count: number): number[] {
  const today = new Date(startOfDay(now));
  return Array.from({ length: count }, (_, i) => {
    const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (count - 1 - i));
    return day.getTime();
  });
}

/** As `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  const date = new Date(at);
  const two = (figure: number) => String(figure).padStart(2, '0');
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
