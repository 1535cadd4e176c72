import '../views.css';
import './chats.css';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visibleText } from '../../../src/base/text.ts';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { call } from '../../state/api.ts';
import { useDraft } from '../../state/draft.ts';
import { useQuery } from '../../state/query.ts';
import { Button } from '../../ui/button.tsx';
import { useChosen } from '../../ui/chosen.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Loading, PageHead, Sheet } from '../../ui/layout.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { StatusMark } from '../../ui/status.tsx';
import { Ago } from '../../ui/time.tsx';
import { Notes } from '../notes.tsx';
import { notifyResult } from '../notify-result.ts';
import { OfWorkspace } from '../of-workspace.tsx';
import { RunLink } from '../runs/run/run-link.tsx';

type Chat = Output<'list_chats'>['chats'][number];

const AT_ONCE = 20;
const MAX_CHATS = 1000;

/** `/chats`: chats that agent CLIs keep for one folder. Each of them can be continued as a run. */
export function ChatsPage() {
  return (
    <div class="chats">
      <PageHead title="Chats">
        Conversations that you began in an agent CLI. Squad continues one as a run.
      </PageHead>
      <OfWorkspace what="A list of chats">{path => <Chats path={path} key={path} />}</OfWorkspace>
    </div>
  );
}

function Chats({ path }: { path: string }) {
  const [limit, setLimit] = useState(AT_ONCE);
  const [continued, setContinued] = useState<Chat | null>(null);
  const { data, error, isLoading, reload } = useQuery('list_chats', { limit }, { workspace: path });
  const chats = data?.chats ?? [];
  const { current, moves } = useChosen(chats, 'chat');
  useKeys([
    ...moves,
    {
      key: 'c',
      what: 'Continue this chat',
      run: () => current && setContinued(current),
      when: () => chats.length > 0,
    },
  ]);
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  if (!data) return <Loading />;
  return (
    <>
      <p class="page-tools">
        <Button why={isLoading ? 'In progress' : null} onClick={reload}>
          Refresh
        </Button>
      </p>
      <Notes notes={data.notes} />
      {chats.length === 0 && (
        <Empty title="No chats in this folder" command="squad adopt --all">
          Squad lists chats of Claude Code, Codex, Gemini CLI, opencode, Copilot CLI and Qwen Code that you
          began in this folder.
        </Empty>
      )}
      {chats.length > 0 && (
        <Sheet
          columns={[
            ...['first prompt or title', 'engine', 'changed', 'used by'],
            { name: <span class="unseen">actions</span> },
          ]}
        >
          {chats.map(chat => (
            <Row
              key={chat.id}
              chat={chat}
              isCurrent={chat === current}
              onContinue={() => setContinued(chat)}
            />
          ))}
        </Sheet>
      )}
      {data.more > 0 && (
        <p>
          <Button onClick={() => setLimit(MAX_CHATS)}>Show {data.more} more</Button>
        </p>
      )}
      {data.ofRuns > 0 && (
        <p class="soft">{data.ofRuns} more were begun by runs: reply to those runs instead.</p>
      )}
      {continued && <ContinueChat chat={continued} path={path} onClose={() => setContinued(null)} />}
    </>
  );
}

interface RowProps {
  chat: Chat;
  isCurrent: boolean;
  onContinue(): void;
}

function Row({ chat, isCurrent, onContinue }: RowProps) {
  const { short, engine, title, changedAt, openIn, run } = chat;
  return (
    <tr class={isCurrent ? 'current' : ''}>
      <td class="wide">
        {title === null ? <span class="faint">no title</span> : <PlainLine text={title} />}{' '}
        <code class="soft">
          <PlainLine text={short} />
        </code>
      </td>
      <td data-name="engine">{engine}</td>
      <td data-name="changed">
        <Ago at={changedAt} />
      </td>
      <td data-name="used by">
        {openIn && (
          <StatusMark
            style={{ word: `open in process ${openIn.pid}`, icon: 'warn', tone: 'ask' }}
            title={visibleText(openIn.command)}
          />
        )}
        {!openIn && (run === null ? <span class="faint">no run</span> : <RunLink id={run} />)}
      </td>
      <td class="wide">
        <Button label={`Continue ${short}`} keyName={isCurrent ? 'c' : undefined} onClick={onContinue}>
          Continue
        </Button>
      </td>
    </tr>
  );
}

interface ContinueChatProps {
  chat: Chat;
  path: string;
  onClose(): void;
}

function ContinueChat({ chat, path, onClose }: ContinueChatProps) {
  const { id, short, engine, openIn, canBeForked } = chat;
  const { route } = useLocation();
  const [text, setText, forget] = useDraft(`adopt:${id}`);
  const [fork, setFork] = useState(openIn !== null && canBeForked);
  const task = text.trim();
  const words = ['squad', 'adopt', ...(fork ? ['--fork'] : []), shellWord(short)];
  const command = [...words, task === '' ? '"…"' : shellWord(task)].join(' ');
  const adopt = async () => {
    await notifyResult(
      call('adopt_chat', { chat: id, text: task, fork }, { workspace: path }),
      ({ runIds, warnings }) => {
        route(`/r/${runIds[0]}`);
        return ['The chat continues.', ...warnings].join(' ');
      },
    );
    forget();
  };
  return (
    <Confirm
      title={`Continue ${short}`}
      effect={`A run of ${engine} continues the chat in its folder, without a work tree and without a sandbox. It is refused while the chat is open elsewhere.`}
      command={command}
      yes="Continue"
      tone="main"
      onYes={adopt}
      onClose={onClose}
    >
      <label>
        Task
        <textarea autofocus required value={text} onInput={event => setText(event.currentTarget.value)} />
      </label>
      {canBeForked && (
        <label class="start-check">
          <input type="checkbox" checked={fork} onChange={event => setFork(event.currentTarget.checked)} />{' '}
          Leave the chat as it is, and continue a fork of it
        </label>
      )}
    </Confirm>
  );
}
