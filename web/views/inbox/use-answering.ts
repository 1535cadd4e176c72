import { signal } from '@preact/signals';
import { showFailure } from '../../shell/ask-first.tsx';
import { type ApiError, call } from '../../state/api.ts';
import { useJustAppeared } from '../../ui/calm.ts';
import { toast } from '../../ui/toast.tsx';

const sent = signal<ReadonlySet<string>>(new Set());

/** True while an answer is being sent, and after it was accepted. */
const isSent = (item: string): boolean => sent.value.has(item);

/** Sends at most one answer per item. Null declines. Returns false if the hub refused it; the error is shown. */
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
  /** Why no answer can be sent now. Null if an answer can be sent. */
  why: string | null;
  /** Sends an answer; null declines. Returns false if nothing was sent. */
  send(answer: string | null): Promise<boolean>;
}

/**
 * Shared by buttons, inputs and keys: an item that is closed, is being answered or has just appeared accepts no answer.
 */
export function useAnswering(item: string, settled: string | null): Answering {
  const justAppeared = useJustAppeared(item);
  const why = settled ?? (isSent(item) ? 'Sending your answer' : justAppeared);
  return { why, send: async answer => why === null && (await sendAnswer(item, answer)) };
}
