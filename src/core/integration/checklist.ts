import type { ChecklistItem, IntegrationPlan } from '../../schema/integration.ts';

type Facts = Pick<IntegrationPlan, 'branches' | 'check' | 'target'> & { obstacles: readonly string[] };

/** What somebody asks before they merge, each with its answer. */
export function checklistOf({ branches, check, target, obstacles }: Facts): ChecklistItem[] {
  const item = (what: string, state: ChecklistItem['state'], note: string | null = null) => ({
    what,
    state,
    note,
  });
  const count = (isIt: (branch: Facts['branches'][number]) => boolean) => branches.filter(isIt).length;
  const [left, refused] = [
    count(({ commitsWork }) => commitsWork),
    count(({ outcome }) => outcome === 'refused'),
  ];
  const conflicts = count(({ outcome }) => outcome === 'conflict');
  const behind = count(({ isBehind }) => isBehind);
  return [
    refused > 0
      ? item('work is committed', 'bad', `of ${refused} it cannot be`)
      : item('work is committed', 'ok', left > 0 ? `of ${left} it is when you approve` : null),
    item('on the newest target', 'ok', behind > 0 ? `${target} went on after ${behind} of them began` : null),
    conflicts > 0 ? item('no conflicts', 'bad', `${conflicts} left out`) : item('no conflicts', 'ok'),
    obstacles.length > 0
      ? item('nothing in the way', 'bad', obstacles.join('; '))
      : item('nothing in the way', 'ok'),
    checkItem(check),
  ];

  function checkItem(made: IntegrationPlan['check']): ChecklistItem {
    if (!made) return item('check passed', 'open', 'none is set');
    if (made.outcome === 'not_run') return item('check passed', 'open', 'not run');
    if (made.outcome === 'passed') return item('check passed', 'ok');
    return item('check passed', 'bad', checkWords(made));
  }
}

/** How a check that did not pass ended. */
export function checkWords({ outcome, exitCode }: NonNullable<IntegrationPlan['check']>): string {
  if (outcome === 'timeout') return 'it took too long and was ended';
  if (outcome === 'not_started') return 'it could not be started';
  return exitCode === null ? 'it was ended by a signal' : `exit code ${exitCode}`;
}
