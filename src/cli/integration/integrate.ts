import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import { exitCodeOf, SquadError } from '../../schema/error.ts';
import type { IntegrationPlan } from '../../schema/integration.ts';
import { agreed } from '../agreed.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { milliseconds } from '../milliseconds.ts';
import { printJson } from '../terminal/json.ts';
import { integrationLines } from './integration-lines.ts';

type Integrated = Output<'integrate'>;

export interface IntegrateOptions {
  into?: string;
  /** `--no-check` makes it false. */
  check?: string | boolean;
  checkTimeout?: string;
  order?: 'suggested' | 'given';
  yes?: boolean;
  dryRun?: boolean;
  remove?: boolean;
}

/** `squad integrate [RUN…]`: shows what merging comes to, then does exactly that when told to. */
export async function integrateCommand(
  ids: string[],
  { into, check, checkTimeout, order, yes, dryRun = false, remove = false }: IntegrateOptions,
  context: CliContext,
): Promise<number> {
  const client = await HubClient.start({ workspace: context.workspace });
  try {
    const onProgress = (message: string) => {
      if (context.err.isTTY) context.err.write(`${context.style.dim(`${message}…`)}\n`);
    };
    const input = {
      ...{ ids, into, order },
      ...(check !== undefined && check !== true && { check }),
      ...(checkTimeout !== undefined && { checkTimeoutMs: milliseconds('--check-timeout', checkTimeout) }),
      runsCheck: !dryRun,
    };
    const plan = await client.call('plan_integration', input, { onProgress });
    if (!context.json) print(context, integrationLines(plan, context));
    if (dryRun || plan.planId === null) return unmerged(plan, { dryRun, isNamed: ids.length > 0 }, context);
    const question = `Merge ${branches(mergesOf(plan))} into ${visibleLine(plan.target ?? '')}?`;
    const again = 'Say it beforehand: squad integrate --yes';
    if (!yes && !(await agreed(question, again, context))) {
      print(context, ['Nothing was merged.']);
      return EXIT.needsInput;
    }
    const done = await client.call('integrate', { approve: plan.planId, remove });
    if (context.json) printJson(context.out, { plan, integrated: done });
    else print(context, doneLines(done, context));
    return isWhole(plan, ids.length > 0) ? EXIT.done : EXIT.failed;
  } finally {
    client.close();
  }
}

/** A plan that was only looked at, or of which nothing comes. */
function unmerged(
  plan: IntegrationPlan,
  { dryRun, isNamed }: { dryRun: boolean; isNamed: boolean },
  context: CliContext,
): number {
  const { blocked } = plan;
  if (context.json) printJson(context.out, { plan, integrated: null });
  else if (blocked && !dryRun)
    throw new SquadError(blocked.code, `${visibleLine(blocked.message)}. Nothing was merged.`, {
      suggestions: blocked.suggestions.map(visibleLine),
    });
  if (blocked) return exitCodeOf(blocked.code);
  return isWhole(plan, isNamed) ? EXIT.done : EXIT.failed;
}

const mergesOf = ({ branches: all }: IntegrationPlan) =>
  all.filter(({ outcome }) => outcome === 'merges').length;
/** Nothing conflicts or is refused, and nothing that was named is left out. */
const isWhole = ({ branches: all, leftOut }: IntegrationPlan, isNamed: boolean) =>
  all.every(({ outcome }) => outcome === 'merges' || outcome === 'nothing') &&
  !(isNamed && leftOut.length > 0);
const branches = (count: number) => (count === 1 ? '1 branch' : `${count} branches`);

function doneLines({ target, to, merged, removed, notes }: Integrated, { style }: CliContext): string[] {
  const kept = removed.filter(each => each.kept !== null);
  return [
    `${style.green('Merged')} ${branches(merged.length)} into ${visibleLine(target)}, now at ${to.slice(0, 10)}.`,
    ...(removed.length > kept.length
      ? [`Removed ${removed.length - kept.length} of their work trees; the branches stay.`]
      : []),
    ...kept.map(({ path, kept: why }) =>
      style.yellow(`Kept ${visibleLine(path)}: ${visibleLine(why ?? '')}`),
    ),
    ...notes.map(note => style.yellow(visibleLine(note))),
  ];
}
