import { randomBytes } from 'node:crypto';
import type { RunId } from '../../schema/ids.ts';

/** A list of runs as it was when its first page was asked for. */
export interface BoardPage {
  /** What was asked for: its pages are of no other list. */
  asked: string;
  at: number;
  /** Runs that had not ended, by how much they needed somebody. They move on; a list that is being read must not. */
  live: Readonly<Record<'needs_you' | 'running' | 'queued', readonly RunId[]>>;
}

/** More people than this leaf at the same time only where nobody means to. */
const MOST_KEPT = 64;

/** Lists that somebody is leafing through, the newest. */
export class BoardPages {
  private readonly kept = new Map<string, BoardPage>();

  /** Returns the name to ask for it with. */
  keep(page: BoardPage): string {
    const name = randomBytes(6).toString('base64url');
    this.kept.set(name, page);
    for (const oldest of this.kept.keys()) if (this.kept.size > MOST_KEPT) this.kept.delete(oldest);
    return name;
  }

  /** Undefined: that was too long ago, or before this hub. */
  find(name: string): BoardPage | undefined {
    return this.kept.get(name);
  }
}
