import type { ComponentChildren } from 'preact';
import { useQuery } from '../../state/query.ts';
import { Copy } from '../../ui/copy.tsx';
import { shownDuration, shownMoney } from '../../ui/figures.ts';
import { harmless } from '../../ui/harmless.ts';
import { Plain } from '../../ui/plain.tsx';
import { Ago, Duration } from '../../ui/time.tsx';
import { Money, Tokens } from '../../ui/usage.tsx';
import { RunLink } from './run-header.tsx';
import type { ShownRun } from './shown-run.ts';

/** Everything known of it that is not in what it did, wrote or changed. */
export function DetailsTab({ data }: { data: ShownRun }) {
  return (
    <div class="details">
      <Task data={data} />
      <Where data={data} />
      <How data={data} />
      <Rules data={data} />
      <Seen data={data} />
      <Turns data={data} />
      <Files data={data} />
      <Ids data={data} />
    </div>
  );
}

function Task({ data: { run } }: { data: ShownRun }) {
  return (
    <Part title="Task">
      <p>
        <Copy text={run.task} label="task" />
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable */}
      <div class="details-task" tabIndex={0}>
        <Plain text={run.task} />
      </div>
    </Part>
  );
}

function Where({ data: { run, work, pullRequest } }: { data: ShownRun }) {
  return (
    <Part title="Where">
      <dl>
        <Fact name="Works in">
          <Copy text={run.directory} label="folder" isShown />
        </Fact>
        <Fact name="Workspace">
          <Copy text={run.workspace} label="workspace" isShown />
        </Fact>
        {work && (
          <>
            <Fact name="Branch">
              <Copy text={work.branch} label="branch" isShown />
            </Fact>
            <Fact name="Forked from">
              <Copy text={work.base} label="commit" isShown />
            </Fact>
            <Fact name="Work tree">
              {work.isThere === null
                ? 'cannot be told'
                : work.isThere
                  ? 'is there'
                  : 'is gone; the branch is not'}
              {work.tip === null && ', its branch is gone'}
            </Fact>
            {work.tip && (
              <Fact name="Tip">
                <Copy text={work.tip} label="commit" isShown />
              </Fact>
            )}
            {work.saved.map(ref => (
              <Fact key={ref} name="Saved, not committed">
                <Copy text={ref} label="ref" isShown />
              </Fact>
            ))}
          </>
        )}
        {pullRequest && (
          <Fact name="Pull request">
            <WebLink url={pullRequest.url}>#{pullRequest.number}</WebLink>
          </Fact>
        )}
      </dl>
    </Part>
  );
}

function How({ data: { run, setting } }: { data: ShownRun }) {
  const { options } = run;
  return (
    <Part title="How">
      <dl>
        <Fact name="Role">{run.roleId ?? 'none: a bare prompt'}</Fact>
        <Fact name="Engine">
          {run.engine}
          {run.model && `, ${run.model}`}
          {options.effort && `, effort ${options.effort}`}
        </Fact>
        {setting.program !== null && (
          <Fact name="Program">
            <Copy text={setting.program} label="program" isShown /> {setting.version ?? 'version unknown'}
          </Fact>
        )}
        <Fact name="Environment">
          {setting.variables === null ? (
            'not kept'
          ) : (
            <details>
              <summary>
                {setting.variables.length} {setting.variables.length === 1 ? 'variable' : 'variables'}, by
                name
              </summary>
              <code>{setting.variables.map(harmless).join(' ')}</code>
            </details>
          )}
        </Fact>
        <Fact name="May">{PERMISSIONS[options.permission]}</Fact>
        <Fact name="Tools">
          {options.tools === null ? 'all its engine has' : options.tools.join(', ') || 'none'}
        </Fact>
        {options.mcp.length > 0 && <Fact name="Other servers">{options.mcp.join(', ')}</Fact>}
        <Fact name="Starts others">{options.spawn ? 'yes' : 'no'}</Fact>
        <Fact name="Time limit">{shownDuration(run.timeoutMs)}</Fact>
        <Fact name="Without a sign">
          {options.stallMs === null ? 'no limit' : `stopped after ${shownDuration(options.stallMs)}`}
        </Fact>
        <Fact name="Budget">
          {options.budgetUsd === null
            ? 'none'
            : `${shownMoney(options.budgetUsd)}, ${options.stopAtBudget ? 'then it is stopped' : 'then it is told'}`}
        </Fact>
        <Fact name="Chat">
          {run.chatId === null ? (
            run.stateMode
          ) : (
            <>
              <Copy text={run.chatId} label="chat id" isShown /> {run.chatIsNew ? 'its own' : 'gone on with'}
            </>
          )}
        </Fact>
      </dl>
    </Part>
  );
}

const PERMISSIONS = {
  read: 'look only',
  edit: 'change files and run commands in its folder',
  full: 'anything at all',
} as const;

function Rules({ data: { run } }: { data: ShownRun }) {
  if (run.policy.length === 0) return null;
  return (
    <Part title="Rules, and who holds them">
      <ul class="details-list">
        {run.policy.map(({ rule, heldBy, note }, index) => (
          <li key={index}>
            <Plain text={rule} isBlock={false} /> <span class="held">{HOLDERS[heldBy]}</span>
            {note && (
              <span class="soft">
                {' '}
                <Plain text={note} isBlock={false} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

const HOLDERS = {
  system: 'held by Squad',
  engine: "held by the engine's own checks",
  advisory: 'only in its instructions',
} as const;

function Seen({ data: { run } }: { data: ShownRun }) {
  const { evidence, usage } = run;
  return (
    <Part title="What Squad saw">
      <dl>
        <Fact name="Verdict">{evidence?.verdict ?? 'nobody has looked yet'}</Fact>
        {evidence && (
          <>
            <Fact name="Tool calls">
              {known(evidence.toolCalls)}, {known(evidence.toolFailures)} failed
            </Fact>
            <Fact name="Files changed">
              {evidence.filesChanged === null ? 'cannot be told' : evidence.filesChanged.count}
              {evidence.filesChanged && evidence.filesChanged.files.length > 0 && (
                <ul class="details-list">
                  {evidence.filesChanged.files.map(file => (
                    <li key={file}>
                      <code>
                        <Plain text={file} isBlock={false} />
                      </code>
                    </li>
                  ))}
                </ul>
              )}
            </Fact>
            <Fact name="Commits">
              {evidence.commits === null ? 'cannot be told' : evidence.commits.count}
              {evidence.commits && evidence.commits.newest.length > 0 && (
                <ul class="details-list">
                  {evidence.commits.newest.map(({ id, subject }) => (
                    <li key={id}>
                      <Copy text={id} label="commit" isShown /> <Plain text={subject} isBlock={false} />
                    </li>
                  ))}
                </ul>
              )}
            </Fact>
            {evidence.note && (
              <Fact name="Note">
                <Plain text={evidence.note} isBlock={false} />
              </Fact>
            )}
          </>
        )}
        <Fact name="Tokens">
          <Tokens usage={usage} />
        </Fact>
        <Fact name="Cost">
          <Money usd={usage?.costUsd ?? null} isEstimated={usage?.costIsEstimated} />
        </Fact>
        {run.notes.map(note => (
          <Fact key={note} name="Note">
            <Plain text={note} isBlock={false} />
          </Fact>
        ))}
      </dl>
    </Part>
  );
}

const known = (count: number | null): string => (count === null ? 'unknown' : String(count));

function Turns({ data: { run, turns } }: { data: ShownRun }) {
  if (turns.length === 0) return null;
  return (
    <Part title="Turns">
      <table class="sheet">
        <thead>
          <tr>
            <th>Turn</th>
            <th>Started</th>
            <th>Took</th>
            <th>Exit</th>
            <th>Process</th>
            <th>Left behind</th>
          </tr>
        </thead>
        <tbody>
          {turns.map(turn => (
            <tr key={turn.number}>
              <td data-name="Turn">
                <a href={`/r/${run.id}/output?turn=${turn.number}`}>{turn.number}</a>
              </td>
              <td data-name="Started">
                <Ago at={turn.startedAt} />
              </td>
              <td data-name="Took">
                <Duration from={turn.startedAt} to={turn.endedAt} />
              </td>
              <td data-name="Exit">
                {turn.exitCode ?? (turn.endedAt === null ? 'at work' : 'unknown')}
                {turn.stop && `, stopped: ${turn.stop.replaceAll('_', ' ')}`}
              </td>
              <td data-name="Process">{turn.pid ?? '–'}</td>
              <td data-name="Left behind">
                {turn.leftovers.length === 0
                  ? 'nothing'
                  : turn.leftovers.map(({ pid, command }) => (
                      <div key={pid}>
                        {pid} <Plain text={command} isBlock={false} />
                      </div>
                    ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Part>
  );
}

function Files({ data: { run, files } }: { data: ShownRun }) {
  return (
    <Part title="Files">
      <dl>
        {(['stdout', 'stderr'] as const).map(stream => (
          <Fact key={stream} name={stream}>
            <Copy text={files[stream]} label="path" isShown />{' '}
            <span class="soft num">{files[`${stream}Bytes`].toLocaleString()} bytes</span>
          </Fact>
        ))}
        <Fact name="Read it">
          <Copy text={`squad log ${run.id}`} label="command" isShown />
        </Fact>
      </dl>
    </Part>
  );
}

function Ids({ data: { run, squad } }: { data: ShownRun }) {
  const { data: hub } = useQuery('hub_status', {});
  return (
    <Part title="Ids and versions">
      <dl>
        <Fact name="Run">
          <Copy text={run.id} label="run id" isShown />
        </Fact>
        <Fact name="Squad">
          <Copy text={run.squadId} label="squad id" isShown /> <a href={`/s/${run.squadId}`}>open</a>
        </Fact>
        {run.lineageId !== run.id && (
          <Fact name="First run of the task">
            <RunLink id={run.lineageId} />
          </Fact>
        )}
        {run.parentId && (
          <Fact name="Started by">
            <RunLink id={run.parentId} />
          </Fact>
        )}
        <Fact name="Asked for by">{run.client ?? squad?.client ?? 'unknown'}</Fact>
        <Fact name="Asked for">
          <Ago at={run.createdAt} />
        </Fact>
        {hub && <Fact name="Hub">version {hub.version}</Fact>}
      </dl>
    </Part>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="page-part">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** An address that somebody else gave: a link only where it leads to the web. */
function WebLink({ url, children }: { url: string; children: ComponentChildren }) {
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isWeb) return <Plain text={url} isBlock={false} />;
  return (
    <a href={url} rel="noreferrer noopener" target="_blank">
      {children} {url}
    </a>
  );
}
