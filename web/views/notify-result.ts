import { toast } from '../ui/toast.tsx';

/** Shows the result of an action that was confirmed in a dialog. The dialog itself shows errors. */
export async function notifyResult<T>(answer: Promise<T>, words: (answer: T) => string): Promise<void> {
  toast(words(await answer));
}
