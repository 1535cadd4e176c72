import { useJustCame } from '../../ui/calm.ts';
import { isSent, sendAnswer } from './send-answer.ts';

export interface Answering {
  /** Why nothing can be sent now. */
  why: string | null;
  /** Null declines. False: nothing was sent. */
  send(answer: string | null): Promise<boolean>;
}

/** The one way for buttons, boxes and keys: an item that is settled, being answered or new under the pointer takes no answer. */
export function useAnswering(item: string, settled: string | null): Answering {
  const justCame = useJustCame(item);
  const why = settled ?? (isSent(item) ? 'Your answer is on its way' : justCame);
  return { why, send: async answer => why === null && (await sendAnswer(item, answer)) };
}
