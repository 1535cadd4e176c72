import { signal } from '@preact/signals';
import { sayFailure } from '../../shell/ask-first.tsx';
import { type ApiError, call } from '../../state/api.ts';
import { toast } from '../../ui/toast.tsx';

const sent = signal<ReadonlySet<string>>(new Set());

/** An answer to it is on its way, or was taken. */
export const isSent = (item: string): boolean => sent.value.has(item);

/** Once for an item, whatever is pressed meanwhile. Null declines it. False: the hub did not take it, and said why. */
export async function sendAnswer(item: string, answer: string | null): Promise<boolean> {
  if (sent.peek().has(item)) return false;
  sent.value = new Set([...sent.peek(), item]);
  try {
    await call('answer_question', { item, ...(answer === null ? { decline: true } : { answer }) });
    toast(answer === null ? 'Declined' : `Answered: ${shortened(answer)}`);
    return true;
  } catch (thrown) {
    sent.value = new Set([...sent.peek()].filter(one => one !== item));
    sayFailure(thrown as ApiError);
    return false;
  }
}

const shortened = (text: string): string =>
  text.length > 60 ? `${text.slice(0, 59).toWellFormed()}…` : text;
