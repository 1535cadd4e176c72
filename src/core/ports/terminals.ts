/** Windows for people to work in, on the screen of whoever has this environment. */
export interface Terminals {
  /** The program that would open one, or why none can be. */
  find(env: Record<string, string>): { program: string; why: null } | { program: null; why: string };
  /** Opens one on this run. Rejects when no window comes of it. */
  open(env: Record<string, string>, attach: { run: string; takesOver: boolean }): Promise<void>;
}
