const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats like 0.4s, 55s, 1m30s, 2h05m, 3d04h. */
export function formatDuration(ms: number): string {
  if (ms < 10 * SECOND) return `${(Math.floor(Math.max(0, ms) / 100) / 10).toFixed(1)}s`;
  return formatElapsed(ms);
}

/** Whole seconds, so that a live line changes once a second. */
export function formatElapsed(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(Math.max(0, ms) / SECOND)}s`;
  if (ms < HOUR) return pair(ms, MINUTE, 'm', SECOND, 's');
  if (ms < DAY) return pair(ms, HOUR, 'h', MINUTE, 'm');
  return pair(ms, DAY, 'd', HOUR, 'h');
}

/** Local time, like 09:04:31. */
export function formatClock(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
}

/** Local date and time, like 2026-01-02 09:04:31. */
export function formatDateTime(at: number): string {
  const date = new Date(at);
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-');
  return `${day} ${formatClock(at)}`;
}

const pair = (ms: number, large: number, largeName: string, small: number, smallName: string) =>
  `${Math.floor(ms / large)}${largeName}${twoDigits(Math.floor((ms % large) / small))}${smallName}`;

const twoDigits = (value: number) => String(value).padStart(2, '0');
