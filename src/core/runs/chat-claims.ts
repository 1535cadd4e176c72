import type { LiveRun } from './live-run.ts';
import { chatBusy } from './plan.ts';

/** One run at a time on a chat: those at work hold theirs, and those being written down have theirs claimed. */
export class ChatClaims {
  private readonly live: () => Iterable<LiveRun>;
  private readonly claimed = new Set<string>();

  constructor(live: () => Iterable<LiveRun>) {
    this.live = live;
  }

  /** Throws CHAT_BUSY. */
  refuseBusy(chat: string): void {
    if (this.claimed.has(chat)) throw chatBusy(chat, 'another call');
    for (const { chats, run } of this.live()) if (chats.has(chat)) throw chatBusy(chat, `run ${run.id}`);
  }

  /** Claims them all or none, with nothing in between that another call could come in. Returns how to let go. */
  claim(chats: string[]): () => void {
    for (const chat of chats) this.refuseBusy(chat);
    for (const chat of chats) this.claimed.add(chat);
    return () => {
      for (const chat of chats) this.claimed.delete(chat);
    };
  }
}
