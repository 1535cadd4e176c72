/** Formats like `1m30s`, `2h05m`, `3d04h`: never more than two units. */
export function shownDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${two(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h${two(minutes % 60)}m`;
  return `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
}

/** Formats like `just now`, `5 min ago`, `3 h ago`, `2 d ago`; a future time like `in 5 min`. */
export function shownAgo(at: number, now: number): string {
  const seconds = Math.round(Math.abs(now - at) / 1000);
  if (seconds < 10) return at > now + 1000 ? 'in a moment' : 'just now';
  const amount =
    seconds < 60
      ? `${seconds} s`
      : seconds < 3600
        ? `${Math.floor(seconds / 60)} min`
        : seconds < 86_400
          ? `${Math.floor(seconds / 3600)} h`
          : `${Math.floor(seconds / 86_400)} d`;
  return at > now ? `in ${amount}` : `${amount} ago`;
}

/** Formats like `950`, `41k`, `1.9M`. */
export function shownCount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${count < 9_950 ? short(count / 1000) : Math.round(count / 1000)}k`;
  return `${short(count / 1_000_000)}M`;
}

/** Formats money with two decimals, or four for amounts below one cent. */
export function shownMoney(usd: number): string {
  if (usd === 0) return '$0';
  if (usd < 0.0001) return '<$0.0001';
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

/** Formats like `1 run`, `3 runs`. */
export const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`;

/** Formatters for texts that contain durations or amounts. */
export const FIGURES = { duration: shownDuration, money: shownMoney };

const two = (value: number) => String(value).padStart(2, '0');
const short = (value: number) => value.toFixed(1).replace(/\.0$/, '');
