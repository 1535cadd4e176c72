/** What the core needs from the world. Adapters live in other folders and are put together in `src/app.ts`; nothing in `src/core` opens a file, starts a process or reads a clock. */
export interface Clock {
  now(): number;
}
