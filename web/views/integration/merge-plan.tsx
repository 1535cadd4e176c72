import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { visibleText } from '../../../src/base/text.ts';
import type { IntegrationPlan } from '../../../src/schema/integration.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { call } from '../../state/api.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { plural } from '../../ui/figures.ts';
import { Plain, PlainLine } from '../../ui/plain.tsx';
import { StatusMark } from '../../ui/status.tsx';
import type { StatusStyle } from '../../ui/status-style.ts';
import { notifyResult } from '../notify-result.ts';

const MARKS: Record<IntegrationPlan['checklist'][number]['state'], StatusStyle> = {
  ok: { word: 'ok', icon: 'check', tone: 'good' },
  bad: { word: 'failed', icon: 'cross', tone: 'bad' },
  open: { word: 'open', icon: 'half', tone: 'ask' },
};

const OUTCOMES: Record<IntegrationPlan['branches'][number]['outcome'], string> = {
  merges: 'merges',
  conflict: 'conflicts, left out',
  nothing: 'nothing to merge',
  refused: 'cannot be committed, left out',
};

/** The result of a trial merge. */
interface MergePlanProps {
  plan: IntegrationPlan;
  /** Selected runs. An empty list selects all runs. */
  chosen?: readonly string[];
  onChoose?(ids: string[]): void;
}

export function MergePlan({ plan, chosen = [], onChoose }: MergePlanProps) {
  const { branches, checklist, leftOut, warnings, blocked, check, target } = plan;
  // Suggestions to run `squad reply` are left out, because a button next to the branch does the same.
  const suggestions = blocked?.suggestions.filter(text => !text.startsWith('squad reply ')) ?? [];
  return (
    <>
      {checklist.length > 0 && (
        <ul class="checklist">
          {checklist.map(({ what, state, note }) => (
            <li key={what}>
              <StatusMark style={MARKS[state]} />{' '}
              <span>
                <PlainLine text={what} />
                {note !== null && (
                  <span class="soft">
                    {' · '}
                    <PlainLine text={note} />
                  </span>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
      {branches.length > 0 && (
        <table class="sheet">
          <caption class="unseen">Branches in merge order</caption>
          <thead>
            <tr>
              {onChoose && (
                <th scope="col">
                  <span class="unseen">merge</span>
                </th>
              )}
              <th scope="col">run</th>
              <th scope="col">branch</th>
              <th scope="col">outcome</th>
              <th scope="col" class="num">
                files
              </th>
            </tr>
          </thead>
          <tbody>
            {branches.map((branch, at) => (
              <tr key={branch.runId}>
                {onChoose && (
                  <td class="merge-choose">
                    <label>
                      <input
                        type="checkbox"
                        checked
                        aria-label={`Merge ${branch.branch}`}
                        aria-disabled={branches.length === 1 || undefined}
                        onClick={event => {
                          event.preventDefault();
                          if (branches.length > 1) onChoose(idsWithout(branches, branch.runId));
                        }}
                      />{' '}
                      {at + 1}
                    </label>
                  </td>
                )}
                <td>
                  <a href={`/r/${branch.runId}/changes`}>
                    <PlainLine text={`${branch.name}: ${branch.summary}`} />
                  </a>
                </td>
                <td>
                  <code>{branch.branch}</code>
                  {branch.isBehind && <span class="soft"> · based on an older commit</span>}
                </td>
                <td class={branch.outcome === 'conflict' || branch.outcome === 'refused' ? 'tone-bad' : ''}>
                  {OUTCOMES[branch.outcome]}
                  <Details items={[...branch.conflicts, ...branch.messages]} />
                  <Hunks hunks={branch.hunks} />
                  {(branch.outcome === 'conflict' || branch.outcome === 'refused') && (
                    <AskToResolve branch={branch} target={target ?? 'the target branch'} />
                  )}
                  {branch.commitsWork && (
                    <span class="soft"> · uncommitted work is committed when you merge</span>
                  )}
                  {branch.overlaps.length > 0 && (
                    <span class="soft">
                      {' '}
                      · shares files with {plural(branch.overlaps.length, 'other branch', 'other branches')}
                    </span>
                  )}
                </td>
                <td class="num" data-name="files">
                  {branch.files ?? '–'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {onChoose && chosen.length > 0 && (
        <p>
          <Button onClick={() => onChoose([])}>Try all branches again</Button>
        </p>
      )}
      {leftOut.length > 0 && (
        <ul class="soft">
          {leftOut.map(({ runId, why, canBeNamed }) => (
            <li key={runId}>
              <a href={`/r/${runId}`}>{runId}</a> is left out: <PlainLine text={why} />{' '}
              {canBeNamed && onChoose && (
                <Button
                  label={`Include ${runId}`}
                  onClick={() => onChoose([...branches.map(branch => branch.runId), runId])}
                >
                  Include
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {check && check.output !== '' && (
        <details open={check.outcome !== 'passed'}>
          <summary>
            Output of <code>{check.command.join(' ')}</code>
          </summary>
          <Plain text={check.output} />
        </details>
      )}
      {[...warnings, ...suggestions].map(text => (
        <p key={text} class="soft">
          <PlainLine text={text} />
        </p>
      ))}
    </>
  );
}

const idsWithout = (branches: IntegrationPlan['branches'], left: string): string[] =>
  branches.map(({ runId }) => runId as string).filter(id => id !== left);

/** Shows the conflicting places of a branch, with the lines of both sides. */
function Hunks({ hunks }: { hunks: IntegrationPlan['branches'][number]['hunks'] }) {
  return (
    <>
      {hunks.map(({ path, text }) => (
        <details class="hunk" key={path}>
          <summary>
            Conflict in <PlainLine text={path} />
          </summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable */}
          <pre tabIndex={0}>
            {text.split('\n').map((line, at) => (
              <span key={at} class={hunkTone(line)}>
                {visibleText(line)}
                {'\n'}
              </span>
            ))}
          </pre>
        </details>
      ))}
    </>
  );
}

const hunkTone = (line: string): string | undefined =>
  /^(<{7}|={7}|>{7})( |$)/.test(line) ? 'hunk-mark' : undefined;

function Details({ items }: { items: readonly string[] }) {
  if (items.length === 0) return null;
  return (
    <ul class="merge-conflicts">
      {items.map(item => (
        <li key={item}>
          <PlainLine text={item} />
        </li>
      ))}
    </ul>
  );
}

/** Sends the agent of a branch that cannot be merged the task to fix that. */
function AskToResolve({ branch, target }: { branch: IntegrationPlan['branches'][number]; target: string }) {
  const { route } = useLocation();
  const [text, setText] = useState<string | null>(null);
  const ask =
    branch.outcome === 'conflict'
      ? `Merge ${target} into your branch and resolve the conflicts in ${branch.conflicts.join(', ')}.`
      : 'Finish the git operation in your work tree, and commit.';
  return (
    <>
      <p>
        <Button onClick={() => setText(ask)}>Ask the agent to resolve</Button>
      </p>
      {text !== null && (
        <Confirm
          title="Ask the agent to resolve"
          effect={`${branch.name} continues in its work tree with this message. Try the merge again when it is done.`}
          command={`squad reply ${shellWord(branch.runId)} ${shellWord(text)}`}
          yes="Send"
          tone="main"
          onClose={() => setText(null)}
          onYes={() =>
            notifyResult(call('reply_to_run', { run: branch.runId, text }), ({ runIds }) => {
              if (runIds[0]) route(`/r/${runIds[0]}`);
              return 'The run continues.';
            })
          }
        >
          <label>
            Message
            <textarea autofocus required value={text} onInput={event => setText(event.currentTarget.value)} />
          </label>
        </Confirm>
      )}
    </>
  );
}
