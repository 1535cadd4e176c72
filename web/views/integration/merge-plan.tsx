import type { IntegrationPlan } from '../../../src/schema/integration.ts';
import { Plain, PlainLine } from '../../ui/plain.tsx';
import { StatusMark } from '../../ui/status.tsx';
import type { StatusStyle } from '../../ui/status-style.ts';

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
export function MergePlan({ plan }: { plan: IntegrationPlan }) {
  const { branches, checklist, leftOut, warnings, blocked, check } = plan;
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
              <th scope="col">run</th>
              <th scope="col">branch</th>
              <th scope="col">outcome</th>
              <th scope="col" class="num">
                files
              </th>
            </tr>
          </thead>
          <tbody>
            {branches.map(branch => (
              <tr key={branch.runId}>
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
                  {branch.commitsWork && (
                    <span class="soft"> · uncommitted work is committed when you merge</span>
                  )}
                  {branch.overlaps.length > 0 && (
                    <span class="soft"> · shares files with {branch.overlaps.length} other branches</span>
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
      {leftOut.length > 0 && (
        <ul class="soft">
          {leftOut.map(({ runId, why }) => (
            <li key={runId}>
              <a href={`/r/${runId}`}>{runId}</a> is left out: <PlainLine text={why} />
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
      {[...warnings, ...(blocked?.suggestions ?? [])].map(text => (
        <p key={text} class="soft">
          <PlainLine text={text} />
        </p>
      ))}
    </>
  );
}

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
