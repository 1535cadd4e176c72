import type { IntegrationPlan } from '../../schema/integration.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { checkWords, type Facts, isAgainst } from './checklist.ts';

type Blocked = NonNullable<IntegrationPlan['blocked']>;

/** Why nothing can be merged, and what to do about that. Null: something can, or there is nothing to. */
export function blockedBy(facts: Facts): Blocked | null {
  const { branches, obstacles, untrustedCheck, check } = facts;
  const having = (wanted: string) => branches.filter(({ outcome }) => outcome === wanted);
  if (having('merges').length === 0)
    return conflicting(facts, having('conflict')) ?? refused(facts, having('refused'));
  if (obstacles.length > 0) return inTheWay(facts);
  if (untrustedCheck !== null) return untrusted(untrustedCheck);
  return check && isAgainst(check) ? failed(facts, check) : null;
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
      `squad reply ${shellWord(first.runId)} "Finish what is under way in your work tree, and commit."`,
    ],
  };
}

function inTheWay({ target, folder, obstacles }: Facts): Blocked {
  const where = folder === null ? '' : ` in ${folder}`;
  return {
    code: 'TARGET_BLOCKED',
    message: `${target} cannot be moved: ${obstacles.join('; ')}`,
    suggestions: [`Commit, stash or move away what is named${where}, then: squad integrate`],
  };
}

const untrusted = (file: string): Blocked => ({
  code: 'CHECK_FAILED',
  message: `The check that ${file} names was not run: the file is not trusted, or was changed since`,
  suggestions: [
    'Read the file, then: squad trust',
    'Or go without the check: --no-check; or with another: --check "COMMAND"',
  ],
});

function failed({ branches }: Facts, check: NonNullable<Facts['check']>): Blocked {
  const merged = branches.filter(({ outcome }) => outcome === 'merges');
  const [only] = merged.length === 1 ? merged : [];
  return {
    code: 'CHECK_FAILED',
    message: `The check said no to the merged result: ${checkWords(check)}`,
    suggestions: [
      only
        ? `See its output above, then: squad reply ${shellWord(only.runId)} "Mend what the check says: …"`
        : 'See its output above. `squad integrate RUN` tries one branch alone, and finds the one at fault.',
    ],
  };
}
