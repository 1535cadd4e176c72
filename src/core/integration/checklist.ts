import { SquadError } from '../../schema/error.ts';
import type { ChecklistItem, IntegrationPlan } from '../../schema/integration.ts';
import { shellWord } from '../../schema/shell-word.ts';

/** The facts that planning has found. */
export type Facts = Pick<IntegrationPlan, 'branches' | 'check' | 'folder'> & {
  target: string;
  obstacles: readonly string[];
  /** The config file whose check is ignored until the user trusts the file. */
  untrustedCheck: string | null;
};

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
      : item('ok', 'work is committed', left > 0 ? `for ${left} of them when you approve` : null),
    item(
      'ok',
      `merged onto ${target} as it is now`,
      behind > 0 ? `${behind} of them started from an older commit` : null,
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
  return hasFailed(check) ? item('bad', 'check failed', describeEnd(check)) : item('ok', 'check passed');
}

type Check = NonNullable<IntegrationPlan['check']>;

const hasFailed = ({ outcome }: Check): boolean => outcome !== 'passed' && outcome !== 'not_run';

function describeEnd({ outcome, exitCode }: Check): string {
  if (outcome === 'timeout') return 'it timed out';
  if (outcome === 'not_started') return 'it could not be started';
  return exitCode === null ? 'it was ended by a signal' : `exit code ${exitCode}`;
}

const item = (state: ChecklistItem['state'], what: string, note: string | null = null): ChecklistItem => ({
  ...{ what, state, note },
});

type Blocked = NonNullable<IntegrationPlan['blocked']>;

/** Why nothing can be merged, with the next step. Null if something can be merged, or there is nothing to merge. */
export function blockedBy(facts: Facts): Blocked | null {
  const { branches, obstacles, untrustedCheck, check } = facts;
  const having = (wanted: string) => branches.filter(({ outcome }) => outcome === wanted);
  if (having('merges').length === 0)
    return conflicting(facts, having('conflict')) ?? refused(facts, having('refused'));
  if (obstacles.length > 0) return inTheWay(facts);
  if (untrustedCheck !== null) return untrusted(untrustedCheck);
  return check && hasFailed(check) ? failed(facts, check) : null;
}

type Branches = Facts['branches'];

function conflicting({ target }: Facts, branches: Branches): Blocked | null {
  const [first, ...others] = branches;
  if (!first) return null;
  const whose = others.length === 0 ? `${first.runId} conflicts` : `All ${branches.length} branches conflict`;
  const files = [...new Set(branches.flatMap(({ conflicts }) => conflicts))];
  const ask = `Merge ${target} into your branch and resolve the conflicts in ${first.conflicts.join(', ')}.`;
  return {
    code: 'MERGE_CONFLICT',
    message: `${whose} with ${target} in ${files.join(', ')}`,
    suggestions: [`squad reply ${shellWord(first.runId)} ${shellWord(ask)}`],
  };
}

function refused({ target }: Facts, branches: Branches): Blocked | null {
  const [first] = branches;
  if (!first) return null;
  const why = first.messages.join('; ');
  return {
    code: 'UNCOMMITTABLE',
    message: `No branch can be merged into ${target}: ${first.runId}: ${why}`,
    suggestions: [
      `squad reply ${shellWord(first.runId)} "Finish the git operation in your work tree, and commit."`,
    ],
  };
}

function inTheWay({ target, folder, obstacles }: Facts): Blocked {
  const where = folder === null ? '' : ` in ${folder}`;
  return {
    code: 'TARGET_BLOCKED',
    message: `${target} cannot be moved: ${obstacles.join('; ')}`,
    suggestions: [`Commit, stash or remove these changes${where}, then run \`squad integrate\` again.`],
  };
}

const untrusted = (file: string): Blocked => ({
  code: 'CHECK_FAILED',
  message: `The check in ${file} was not run: the file is not trusted, or has changed since`,
  suggestions: [
    'Read the file, then run `squad trust`.',
    'Or skip the check with `--no-check`, or run another with `--check "COMMAND"`.',
  ],
});

function failed({ branches }: Facts, check: NonNullable<Facts['check']>): Blocked {
  const merged = branches.filter(({ outcome }) => outcome === 'merges');
  const [only] = merged.length === 1 ? merged : [];
  return {
    code: 'CHECK_FAILED',
    message: `The check failed on the merged result: ${describeEnd(check)}`,
    suggestions: [
      only
        ? `See the output of the check above, then run \`squad reply ${shellWord(only.runId)} "Fix what the check reports: …"\`.`
        : 'See the output of the check above. `squad integrate RUN` tries one branch alone, so you can find the branch that fails.',
    ],
  };
}

const AGAIN = 'Run `squad integrate` again for a new plan. Nothing was merged.';

export const branchMoved = (target: string, cause?: unknown): SquadError =>
  new SquadError('BRANCH_MOVED', `The branch ${target} has moved since the plan was made`, {
    suggestions: [AGAIN],
    cause,
  });

export const checkedOutOtherwise = (target: string): SquadError =>
  new SquadError(
    'TARGET_BLOCKED',
    `The branch ${target} is checked out in another folder now than when the plan was made`,
    {
      suggestions: [AGAIN],
    },
  );

export const targetBlocked = (target: string, folder: string, obstacles: readonly string[]): SquadError =>
  new SquadError('TARGET_BLOCKED', `${target} is checked out at ${folder}: ${obstacles.join('; ')}`, {
    suggestions: ['Commit, stash or remove these changes, then try again. Nothing was merged.'],
  });

export const planUnknown = (planId: string): SquadError =>
  new SquadError(
    'PLAN_UNKNOWN',
    `There is no plan ${planId}: it was carried out already, or the hub has restarted`,
    {
      suggestions: [AGAIN],
    },
  );
