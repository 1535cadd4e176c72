import { useState } from 'preact/hooks';
import { withoutColours } from '../../../src/base/text.ts';
import { ApiError, call } from '../../state/api.ts';
import { Button } from '../../ui/button.tsx';
import { shownCount } from '../../ui/figures.ts';
import { Plain } from '../../ui/plain.tsx';
import type { Part } from './conversation-entries.ts';

export interface Whole {
  runId: string;
  messageId: string;
  /** Selects the text from the whole message. */
  pick(content: readonly Part[]): string;
}

interface LongTextProps {
  text: string;
  /** Number of characters left out. */
  left?: number;
  whole?: Whole;
}

/** Text of a message; only the beginning of a long text until the user asks for all of it. */
export function LongText({ text, left = 0, whole }: LongTextProps) {
  const [all, setAll] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const showAll = async ({ runId, messageId, pick }: Whole) => {
    try {
      const { messages } = await call('get_conversation', { run: runId, message: messageId });
      setAll(pick(messages[0]?.content ?? []));
      setProblem(null);
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      setProblem(thrown.message);
    }
  };
  return (
    <>
      <Plain text={withoutColours(all ?? text)} />
      {all === null && left > 0 && whole && (
        <p>
          <Button onClick={() => void showAll(whole)}>Show all ({shownCount(left)} more characters)</Button>
          {problem !== null && <span class="tone-bad"> {problem}</span>}
        </p>
      )}
    </>
  );
}
