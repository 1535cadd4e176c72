import { visibleLine, visibleText } from '../../base/text.ts';
import { homeFolder, pricesFile } from '../../link/home.ts';
import type { Output } from '../../operations/operations.ts';
import type { ReviewOfRun, ShownWork } from '../../operations/runs/run-work.ts';
import type { Attempts, RunSetting } from '../../operations/runs/show-run.ts';
import { sandboxText } from '../../schema/permission-text.ts';
import type { ShownRun, Usage } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type CliContext, printResult } from '../context.ts';
import { evidenceLines } from '../evidence/evidence-text.ts';
import { HubClient } from '../hub-client.ts';
import { askFact } from '../inbox/ask-text.ts';
import { formatDateTime, formatDuration } from '../terminal/duration.ts';
import { branchText, describeStall, paintStatus } from '../terminal/status-text.ts';
import type { Style } from '../terminal/style.ts';
import { type Logins, loginHints, nextStep } from './next-step.ts';

/** `squad show RUN`: everything about one run, its answer last. */
export async function showCommand(id: string, context: CliContext): Promise<number> {
  using client = await HubClient.start();
  const shown = await client.call('show_run', { run: id });
  const logins = await loginHints(client, [shown.run.error]);
  return printResult(context, shown, () => lines(shown, logins, context));
}

function lines(
  {
    run,
    hub,
    quiet,
    branchState,
    turns,
    squad,
    work,
    review,
    pullRequest,
    tries,
    setting,
    result,
    files,
  }: Output<'show_run'>,
  logins: Logins,
  { style }: CliContext,
): string[] {
  const facts: [string, string][] = [
    [
      'state',
      paintStatus(shownStatus(run), style) +
        (branchState === null ? '' : `, ${branchText({ status: 'completed', branchState }, style)}`) +
        (quiet ? `, ${describeStall({ ...quiet, text: visibleText(quiet.text) }, style)}` : ''),
    ],
    whoFact(run, setting, style),
    ['squad', run.squadId],
    ['engine', run.engine === 'scripted' ? 'scripted (no model was called)' : run.engine],
    ...(run.options.machine === null ? [] : [['machine', run.options.machine] as [string, string]]),
    ...(hub === null ? [] : [['hub', visibleText(hub)] as [string, string]]),
    ['folder', run.directory],
    ['sandbox', sandboxText(run.options.sandbox)],
    ['asked by', `${run.client ?? run.parentId ?? 'unknown'} at ${formatDateTime(run.createdAt)}`],
    [
      'took',
      run.startedAt === null ? 'not started' : formatDuration((run.endedAt ?? Date.now()) - run.startedAt),
    ],
    ['limit', formatDuration(run.timeoutMs)],
  ];
  for (const ask of result.asks ?? []) facts.push(['asks', askFact(ask, style)]);
  if (review) facts.push(reviewFact(run, review));
  if (work) facts.push(...workFacts(work));
  if (pullRequest) facts.push(['pull req.', `#${pullRequest.number} ${visibleText(pullRequest.url)}`]);
  if (run.model) facts.push(['model', run.model]);
  if (run.chatId) facts.push(['chat', visibleText(run.chatId)]);
  if (run.parentId) facts.push(['parent', run.parentId]);
  if (run.lineageId !== run.id && run.lineageId !== tries.of?.runId) facts.push(['began as', run.lineageId]);
  facts.push(...attemptFacts(tries, style));
  for (const { rule, note } of run.policy.filter(({ heldBy }) => heldBy === 'advisory'))
    facts.push(['advisory', visibleText(note === null ? rule : `${rule}: ${note}`)]);
  const asks = run.policy.find(({ rule, heldBy }) => rule === 'approvals: ask' && heldBy !== 'advisory');
  if (asks) facts.push(['approvals', `ask, held by ${asks.heldBy}: ${visibleText(asks.note ?? '')}`]);
  if (squad?.metadata) facts.push(['metadata', visibleText(JSON.stringify(squad.metadata))]);
  for (const turn of turns) {
    const exit =
      turn.exitCode === null
        ? turn.endedAt === null
          ? `running, pid ${turn.pid}`
          : 'exit code unknown'
        : `exit code ${turn.exitCode}`;
    facts.push([
      `turn ${turn.number}`,
      turn.stop ? `${exit}, stopped by Squad (${turn.stop.replace('_', ' ')})` : exit,
    ]);
    for (const left of turn.leftovers)
      facts.push(['leftover', `${left.pid} ${visibleText(left.command)} (ended)`]);
  }
  if (setting.command)
    facts.push(['command', setting.command.map(word => argumentText(visibleLine(word))).join(' ')]);
  if (run.usage)
    facts.push([
      'tokens',
      `${run.usage.input ?? '–'} in, ${run.usage.output ?? '–'} out, ${run.usage.cached ?? '–'} cached; cost ${costText(run.usage, run.model)}`,
    ]);
  if (run.evidence) facts.push(...listFact('evidence', evidenceLines(run.evidence, style)));
  facts.push(...listFact('notes', run.notes.map(visibleText)));
  const next = nextStep(run, logins);
  if (run.error) facts.push(['error', style.red(`${visibleText(run.error.message)} (${run.error.code})`)]);
  if (next && next !== run.error?.message) facts.push(['next', next]);
  facts.push(
    ['output', `${files.stdout} (${files.stdoutBytes} bytes)`],
    ['errors', `${files.stderr} (${files.stderrBytes} bytes)`],
  );
  return [
    style.bold(run.id),
    ...facts.map(([name, value]) => `  ${style.dim(name.padEnd(9))} ${value}`),
    '',
    style.bold('Task'),
    visibleText(run.task),
    ...(result.result ? ['', style.bold('Result'), visibleText(result.result)] : []),
  ];
}

const listFact = (name: string, values: string[]): [string, string][] =>
  values.map((value, index) => [index === 0 ? name : '', value]);

function whoFact(
  { roleId, options }: ShownRun,
  { subagentFile }: RunSetting,
  style: Style,
): [string, string] {
  if (roleId !== null) return ['role', style.role(roleId, visibleText(roleId))];
  const { subagent } = options;
  if (subagent === null) return ['role', 'none (plain prompt)'];
  const file = subagentFile === null ? '' : ` (${visibleText(subagentFile)})`;
  return ['subagent', `${style.role(subagent, visibleText(subagent))}${file}`];
}

function reviewFact({ reviewOf, status }: ShownRun, review: ReviewOfRun): [string, string] {
  const { iteration, max, coderId, reviewerId, outcome } = review;
  const round = `review ${iteration} of ${max}`;
  const state = outcome === null ? 'running' : outcome.replace('_', ' ');
  if (reviewOf !== null) return ['reviews', `${coderId}, ${round}: ${state}`];
  const waits = status === 'waiting_review' && outcome === null ? 'waits for ' : '';
  return ['review', `${waits}${round} by ${reviewerId}${waits ? '' : `: ${state}`}`];
}

function attemptFacts({ of, since }: Attempts, style: Style): [string, string][] {
  const describe = ({ runId, status }: Attempts['since'][number]) =>
    `${runId}, ${status === null ? 'deleted' : paintStatus(status, style)}`;
  return [
    ...(of ? [[of.by === 'retry' ? 'retry of' : 'reply to', describe(of)] as [string, string]] : []),
    ...since.map((each): [string, string] => [each.by === 'retry' ? 'retried' : 'replied', describe(each)]),
  ];
}

function workFacts({ branch, path, isThere, tip, saved }: ShownWork): [string, string][] {
  return [
    ['branch', `${visibleText(branch)}${isThere !== null && tip === null ? ' (deleted)' : ''}`],
    ['work tree', `${visibleText(path)}${isThere === false ? ' (deleted)' : ''}`],
    ...saved.map((ref): [string, string] => ['saved', `${visibleText(ref)}, uncommitted changes`]),
  ];
}

/** Quotes an argument for display, but not a placeholder in brackets such as `[prompt]`. */
const argumentText = (word: string): string =>
  /^[\w./-]*\[[\w ./-]+\]$/.test(word) ? word : shellWord(word);

function costText({ costUsd, costIsEstimated, input }: Usage, model: string | null): string {
  if (costUsd !== null) return `${costIsEstimated ? '~' : ''}$${Number(costUsd.toFixed(6))}`;
  if (input === null || model === null) return '–';
  return `unknown: the price list has no ${visibleText(model)} (add a price to ${pricesFile(homeFolder(process.env))})`;
}
