import { ApiError } from '../state/api.ts';
import { toast } from '../ui/toast.tsx';
import { sentences } from './sentences.ts';

/** Says what came of something that was asked for: the words for its answer, or why not and what to do. */
export async function tell<T>(answer: Promise<T>, words: (answer: T) => string): Promise<boolean> {
  try {
    toast(words(await answer));
    return true;
  } catch (thrown) {
    toast(sentences(thrown instanceof ApiError ? [thrown.message, ...thrown.suggestions] : [String(thrown)]));
    return false;
  }
}
