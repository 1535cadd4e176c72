import '../views.css';
import './decisions.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import type { Changes } from '../../state/live.ts';
import { useQuery } from '../../state/query.ts';
import { useParam } from '../../state/url-state.ts';
import { Button } from '../../ui/button.tsx';
import { Command, Copy } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { plural } from '../../ui/figures.ts';
import { PageHead } from '../../ui/layout.tsx';
import { Plain, PlainLine } from '../../ui/plain.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Marked } from '../marked.tsx';
import { Notes } from '../notes.tsx';
import { OfWorkspace } from '../of-workspace.tsx';

type Decision = Output<'list_decisions'>['decisions'][number];

const AT_ONCE = 50;
const MAX_DECISIONS = 1000;
const TYPING_MS = 200;

/** `/decisions`: what the team has decided, when, why and by whom. */
export function DecisionsPage() {
  return (
    <div class="decisions">
      <PageHead title="Decisions">
        From <code>.squad/decisions.md</code> and its inbox. Agents read them too.
      </PageHead>
      <OfWorkspace what="A list of decisions">{path => <Decisions path={path} key={path} />}</OfWorkspace>
    </div>
  );
}

function Decisions({ path }: { path: string }) {
  const [q, setQ] = useParam('search');
  const [typed, setTyped] = useState(q ?? '');
  const [limit, setLimit] = useState(AT_ONCE);
  const box = useRef<HTMLInputElement>(null);
  const search = q?.trim() ?? '';
  const { data, error, isLoading, reload } = useQuery(
    'list_decisions',
    { limit, ...(search !== '' && { search }) },
    { workspace: path, refreshOn },
  );
  useKeys([{ key: '/', what: 'Search decisions', run: () => box.current?.focus() }]);
  useEffect(() => {
    const timer = setTimeout(() => setQ(typed.trim() || null, { replace: true }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  if (error && !data) return <Problem error={error} onRetry={reload} />;
  const command = `squad decisions${search === '' ? '' : ` --search ${shellWord(search)}`}`;
  return (
    <>
      <search class="page-tools decisions-search">
        <label>
          <span class="unseen">Search decisions</span>
          <input
            ref={box}
            type="search"
            placeholder='/ words, "a phrase", prefix*'
            value={typed}
            onInput={event => setTyped(event.currentTarget.value)}
          />
        </label>
        <span class="soft num" role="status">
          {data && !isLoading && found(data, search)}
        </span>
        <Command text={command} />
      </search>
      <Notes notes={data?.notes ?? []} />
      {data && data.decisions.length === 0 && <Nothing search={search} />}
      <ol class="decision-list">
        {data?.decisions.map(decision => (
          <Shown key={decision.id} decision={decision} search={search} />
        ))}
      </ol>
      {data && data.total > data.decisions.length && limit < MAX_DECISIONS && (
        <Button onClick={() => setLimit(Math.min(limit * 4, MAX_DECISIONS))}>
          Show more of {data.total}
        </Button>
      )}
    </>
  );
}

const refreshOn = ({ events }: Changes) =>
  events.some(
    ({ body }) =>
      body.type === 'run.ended' || (body.type === 'tool.called' && body.tool === 'squad_decision_record'),
  );

const found = ({ total, decisions }: Output<'list_decisions'>, search: string) =>
  search === ''
    ? plural(total, 'decision')
    : `${total} found${total > decisions.length ? `, ${decisions.length} shown` : ''}`;

function Nothing({ search }: { search: string }) {
  if (search !== '') return <Empty title="No matching decisions">Try fewer words.</Empty>;
  return (
    <Empty title="No decisions yet" command="squad init">
      A decision is a <code>### Title</code> in <code>.squad/decisions.md</code> with what and why, or a file
      in <code>.squad/decisions/inbox</code>. Agents record them with <code>squad_decision_record</code>.
    </Empty>
  );
}

function Shown({ decision, search }: { decision: Decision; search: string }) {
  const { id, title, date, by, what, why, text, file, merged, snippet } = decision;
  return (
    <li class="decision">
      <p class="decision-when num">
        {date === null ? <span class="faint">no date</span> : <time dateTime={date}>{date}</time>}
      </p>
      <div class="decision-body">
        <h2>
          <Marked text={title} search={search} />
        </h2>
        <p class="soft">
          {by === null ? 'no author' : <PlainLine text={by} />} · <code>{file}</code>
          {!merged && ' · in the inbox, not merged yet'} <Copy text={id} label="decision id" />
        </p>
        {snippet !== undefined && (
          <p>
            <Marked text={snippet} search={search} />
          </p>
        )}
        {snippet === undefined && what !== null && <Part name="What" text={what} />}
        {snippet === undefined && why !== null && <Part name="Why" text={why} />}
        {(snippet !== undefined || (what === null && why === null)) && text.trim() !== '' && (
          <details>
            <summary>Full text</summary>
            <Plain text={text} />
          </details>
        )}
      </div>
    </li>
  );
}

function Part({ name, text }: { name: string; text: string }) {
  return (
    <div class="decision-part">
      <span class="soft">{name}</span>
      <Plain text={text} />
    </div>
  );
}
