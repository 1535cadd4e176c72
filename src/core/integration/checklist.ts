import type { ChecklistItem, IntegrationPlan } from '../../schema/integration.ts';

/** What is known once everything was tried. */
export type Facts = Pick<IntegrationPlan, 'branches' | 'check' | 'folder'> & {
  target: string;
  obstacles: readonly string[];
  /** The file that names a check that does not count until it is trusted. */
  untrustedCheck: string | null;
};

/** What somebody asks before they merge, each as it is. */
export function checklistOf(facts: Facts): ChecklistItem[] {
  const { branches, target, obstacles } = facts;
  const those = (isIt: (branch: Facts['branches'][number]) => boolean) => branches.filter(isIt);
  const refused = those(({ outcome }) => outcome === 'refused');
  const conflicts = those(({ outcome }) => outcome === 'conflict').length;
  const left = those(({ commitsWork }) => commitsWork).length;
  const behind = those(({ isBehind }) => isBehind).length;
  return [
    refused.length > 0
      ? item('bad', `work that cannot be committed: ${refused.map(({ runId }) => runId).join(', ')}`)
      : item('ok', 'work is committed', left > 0 ? `of ${left} it is when you approve` : null),
    item(
      'ok',
      `merged onto ${target} as it is now`,
      behind > 0 ? `it went on after ${behind} of them began` : null,
    ),
    conflicts > 0
      ? item('bad', `conflicts in ${conflicts === 1 ? '1 branch' : `${conflicts} branches`}, left out`)
      : item('ok', 'no conflicts'),
    ...(obstacles.length > 0
      ? obstacles.map(obstacle => item('bad', obstacle))
      : [item('ok', 'nothing in the way')]),
    checkItem(facts),
  ];
}

function checkItem({ check, untrustedCheck }: Facts): ChecklistItem {
  if (untrustedCheck !== null) return item('bad', 'check not trusted', untrustedCheck);
  if (!check) return item('open', 'no check is set');
  if (check.outcome === 'not_run') return item('open', 'check not run');
  return isAgainst(check) ? item('bad', 'check failed', checkWords(check)) : item('ok', 'check passed');
}

type Check = NonNullable<IntegrationPlan['check']>;

/** It was run, and did not pass. */
export const isAgainst = ({ outcome }: Check): boolean => outcome !== 'passed' && outcome !== 'not_run';

/** How a check that did not pass ended. */
export function checkWords({ outcome, exitCode }: Check): string {
  if (outcome === 'timeout') return 'it took too long and was ended';
  if (outcome === 'not_started') return 'it could not be started';
  return exitCode === null ? 'it was ended by a signal' : `exit code ${exitCode}`;
}

const item = (state: ChecklistItem['state'], what: string, note: string | null = null): ChecklistItem => ({
  ...{ what, state, note },
});
