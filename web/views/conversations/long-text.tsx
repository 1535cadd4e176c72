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
  /** What of the message, once it is here with all of it. */
  pick(content: readonly Part[]): string;
}

interface LongTextProps {
  text: string;
  /** Characters that were left out. */
  left?: number;
  whole?: Whole;
  isLine?: boolean;
}

/** Words of somebody; of long ones the beginning, until all of it is asked for. */
export function LongText({ text, left = 0, whole, isLine = false }: LongTextProps) {
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
      <Plain text={withoutColours(all ?? text)} isBlock={!isLine} />
      {all === null && left > 0 && whole && (
        <p>
          <Button onClick={() => void showAll(whole)}>Show all ({shownCount(left)} more characters)</Button>
          {problem !== null && <span class="tone-bad"> {problem}</span>}
        </p>
      )}
    </>
  );
}
