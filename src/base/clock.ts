/** What the core needs from the world. Adapters live in other folders and are put together in `src/app.ts`; nothing in `src/core` opens a file, starts a process or reads a clock. */
export interface Clock {
  /** Milliseconds since 1970, for records and for calendar days. A person or a time server may set this clock at any moment. */
  now(): number;
  /** Milliseconds that only grow, for limits and timeouts. They mean nothing in another process. */
  monotonic(): number;
}
