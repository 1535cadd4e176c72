import { signal } from '@preact/signals';
import { showFailure } from '../../shell/ask-first.tsx';
import { type ApiError, call } from '../../state/api.ts';
import { useJustCame } from '../../ui/calm.ts';
import { toast } from '../../ui/toast.tsx';

const sent = signal<ReadonlySet<string>>(new Set());

/** An answer to it is on its way, or was taken. */
const isSent = (item: string): boolean => sent.value.has(item);

/** Once for an item, whatever is pressed meanwhile. Null declines it. False: the hub did not take it, and said why. */
async function sendAnswer(item: string, answer: string | null): Promise<boolean> {
  if (sent.peek().has(item)) return false;
  sent.value = new Set([...sent.peek(), item]);
  try {
    await call('answer_question', { item, ...(answer === null ? { decline: true } : { answer }) });
    toast(answer === null ? 'Declined' : `Answered: ${shortened(answer)}`);
    return true;
  } catch (thrown) {
    sent.value = new Set([...sent.peek()].filter(one => one !== item));
    showFailure(thrown as ApiError);
    return false;
  }
}

const shortened = (text: string): string =>
  text.length > 60 ? `${text.slice(0, 59).toWellFormed()}…` : text;

export interface Answering {
  /** Why nothing can be sent now. */
  why: string | null;
  /** Null declines. False: nothing was sent. */
  send(answer: string | null): Promise<boolean>;
}

/** The one way for buttons, boxes and keys: an item that is settled, being answered or new under the pointer takes no answer. */
export function useAnswering(item: string, settled: string | null): Answering {
  const justCame = useJustCame(item);
  const why = settled ?? (isSent(item) ? 'Sending your answer' : justCame);
  return { why, send: async answer => why === null && (await sendAnswer(item, answer)) };
}
