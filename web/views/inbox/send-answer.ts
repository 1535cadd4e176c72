import { sayFailure } from '../../shell/ask-first.tsx';
import { type ApiError, call } from '../../state/api.ts';
import { toast } from '../../ui/toast.tsx';

/** False: the hub did not take it, and said why. */
export async function sendAnswer(item: string, answer: string): Promise<boolean> {
  try {
    await call('answer_question', { item, answer });
    toast(`Answered: ${answer.length > 60 ? `${answer.slice(0, 59)}…` : answer}`);
    return true;
  } catch (thrown) {
    sayFailure(thrown as ApiError);
    return false;
  }
}
