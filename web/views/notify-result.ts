import { toast } from '../ui/toast.tsx';

/** Says what came of something that was asked for in a dialog, which tells itself why not. */
export async function notifyResult<T>(answer: Promise<T>, words: (answer: T) => string): Promise<void> {
  toast(words(await answer));
}
