/** Interval of the live feed's heartbeats, and the silence after which the other side counts as gone. */
export const BEAT_MS = 15_000;
export const SILENT_MS = 35_000;

/** Views of the web UI that are not about one run or squad. */
export const VIEWS = [
  'inbox',
  'reviews',
  'merge',
  'backlog',
  'decisions',
  'cost',
  'gateway',
  'machines',
  'chats',
  'events',
  'search',
  'settings',
] as const;

/** Whether the web UI has a view at this path. */
export const isViewPath = (path: string): boolean =>
  path === '/' || VIEWS.some(view => path === `/${view}`) || /^\/(r\/[^/]+(\/[^/]+)?|s\/[^/]+)$/.test(path);
