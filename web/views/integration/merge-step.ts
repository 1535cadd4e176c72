import type { IntegrationPlan } from '../../../src/schema/integration.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { plural } from '../../ui/figures.ts';

export interface MergeStep {
  label: string;
  /** Effect of the merge, shown to the user. */
  effect: string;
  /** Why the plan cannot be merged. Null if it can. */
  why: string | null;
  /** Description of the check, if running it is the next step. Null otherwise. */
  check: string | null;
}

/** The next step for a plan. */
export function mergeStep(plan: IntegrationPlan, removes: boolean): MergeStep {
  const { target, from, to, folder, branches, check, blocked, planId } = plan;
  const merges = branches.filter(({ outcome }) => outcome === 'merges');
  const many = plural(merges.length, 'branch', 'branches');
  const left = branches.filter(({ outcome }) => outcome === 'conflict' || outcome === 'refused').length;
  const commits = merges.filter(({ commitsWork }) => commitsWork).length;
  const isUnchecked = check?.outcome === 'not_run';
  const parts = [
    `Moves ${target ?? 'the target'} from ${short(from)} to ${short(to)}, with ${many} merged.`,
    ...(commits > 0 ? [`Uncommitted work of ${commits} of these branches is committed first.`] : []),
    ...(folder === null ? [] : [`The files in ${folder} are updated.`]),
    ...(left > 0 ? [`${left} ${left === 1 ? 'is' : 'are'} left out.`] : []),
    removes ? 'Their work trees are removed, the branches stay.' : 'Work trees and branches stay.',
    'Nothing is pushed.',
  ];
  return {
    label: merges.length === 0 ? 'Merge' : `Merge ${many} into ${target}`,
    effect: parts.join(' '),
    why:
      planId !== null
        ? null
        : merges.length === 0
          ? (blocked?.message ?? 'There is nothing left to merge.')
          : isUnchecked && (blocked === null || blocked.code === 'CHECK_FAILED')
            ? 'The check has not run on this result yet.'
            : (blocked?.message ?? 'There is nothing left to merge.'),
    check:
      isUnchecked && merges.length > 0
        ? `Runs ${check.command.map(shellWord).join(' ')} on the merged result, in a separate folder. This runs code that agents wrote, with your permissions. No branch is changed.`
        : null,
  };
}

const short = (commit: string | null) => commit?.slice(0, 10) ?? 'nothing';
