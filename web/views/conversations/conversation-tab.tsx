import './conversation.css';
import { useMemo } from 'preact/hooks';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { saved } from '../../state/saved.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Loading } from '../../ui/layout.tsx';
import { Problem } from '../../ui/problem.tsx';
import type { ShownRun } from '../runs/run/shown-run.ts';
import { talkOf } from './conversation-entries.ts';
import { ConversationRow } from './conversation-row.tsx';
import { useConversation } from './use-conversation.ts';

/** Prompts, responses and tool calls, message by message. */
export function ConversationTab({ data }: { data: ShownRun }) {
  const { id, endedAt } = data.run;
  const { messages, nested, note, isLoading, error, showMore, reload } = useConversation(data);
  const rows = useMemo(() => talkOf(messages, nested), [messages, nested]);
  return (
    <div class="conversation">
      {error && <Problem error={error} onRetry={reload} />}
      {rows.length > 0 && (
        <>
          {!saved && (
            <p class="soft">
              In a terminal: <Command text={`squad conversation print ${shellWord(id)}`} />
            </p>
          )}
          <ol class="talk" aria-label="Messages">
            {rows.map(said => (
              <ConversationRow key={said.id} runId={id} said={said} />
            ))}
          </ol>
        </>
      )}
      {showMore && (
        <p>
          <Button onClick={showMore}>Show more</Button>
        </p>
      )}
      {isLoading && <Loading />}
      {note !== null && rows.length === 0 && (
        <Empty
          title={endedAt === null ? 'No messages yet' : 'No messages'}
          command={endedAt === null ? undefined : `squad log ${shellWord(id)}`}
        >
          {endedAt === null
            ? 'Prompts, responses and tool calls appear here as they happen.'
            : 'The run ended before the first request to the model. See its output for the reason:'}
        </Empty>
      )}
    </div>
  );
}
