import { signal } from '@preact/signals';
import type { ApiError } from '../state/api.ts';
import { Confirm } from '../ui/dialog.tsx';
import { toast } from '../ui/toast.tsx';

interface Question {
  title: string;
  effect: string;
  command: string;
  yes: string;
  /** Runs the action. Returns the text of the toast that follows. */
  run(): Promise<string>;
}

const asked = signal<Question | null>(null);

/** Asks for confirmation of an irreversible action that does not belong to a view. */
export function askFirst(question: Question): void {
  asked.value = question;
}

export function AskFirst() {
  const question = asked.value;
  if (!question) return null;
  return (
    <Confirm
      {...question}
      onYes={async () => toast(await question.run())}
      onClose={() => {
        asked.value = null;
      }}
    />
  );
}

export function showFailure({ message, suggestions = [] }: ApiError): void {
  toast([message, ...suggestions.slice(0, 1)].join('. '));
}
