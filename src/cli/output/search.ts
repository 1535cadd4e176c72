import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { runName } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { workspaceFilter } from '../arguments.ts';
import { type CliContext, printNotes, printResult } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { boardTable } from '../runs/ls.ts';
import { formatDuration } from '../terminal/duration.ts';
import { truncate } from '../terminal/width.ts';

type Found = Output<'search_everything'>;

/** `squad search WORDS`: searches runs, decisions and output. */
export async function searchCommand(
  words: string[],
  { all = false, limit }: { all?: boolean; limit: number },
  context: CliContext,
): Promise<number> {
  const found = await HubClient.ask({ workspace: context.workspace }, 'search_everything', {
    q: words.join(' '),
    limit,
    ...workspaceFilter(all, context),
  });
  if (!context.json) printNotes(context, found.decisions?.notes ?? []);
  return printResult(context, found, () => [
    ...shown(found, context),
    context.style.dim(describeSearched(found.searched, all)),
  ]);
}

function shown(found: Found, context: CliContext): string[] {
  const { runs, runsTotal, decisions, outputs } = found;
  const parts = [
    { title: 'Runs', of: runsTotal, lines: runs.length === 0 ? [] : boardTable(runs, context) },
    { title: 'Decisions', of: decisions?.total ?? 0, lines: decisionLines(found, context) },
    { title: 'Output', of: outputs.length, lines: outputLines(found, context) },
  ].filter(({ lines }) => lines.length > 0);
  if (parts.length === 0) return ['No matches.'];
  return parts.flatMap(({ title, of, lines }) => [
    `${context.style.bold(title)} ${context.style.dim(String(of))}`,
    ...lines,
    '',
  ]);
}

function decisionLines({ decisions }: Found, { style, out }: CliContext): string[] {
  return (decisions?.found ?? []).flatMap(({ id, title, date, snippet }) => [
    truncate(`${id}  ${date?.slice(0, 10) ?? '–'}  ${visibleLine(title)}`, out.columns),
    ...(snippet === '' ? [] : [style.dim(truncate(`    ${visibleLine(snippet)}`, out.columns))]),
  ]);
}

function outputLines({ outputs }: Found, { style, out }: CliContext): string[] {
  return outputs.flatMap(({ runId, title, turn, stream, matches, isMore, ...run }) => [
    truncate(
      `${runId}  ${style.role(runName(run), visibleLine(runName(run)))}  ${visibleLine(title)}  ${style.dim(`turn ${turn}, ${stream}`)}`,
      out.columns,
    ),
    ...matches.map(({ line, text }) =>
      truncate(`    ${style.dim(`${line}:`)} ${visibleLine(text)}`, out.columns),
    ),
    ...(isMore ? [style.dim(withOwnCommand(`    and more: squad log ${shellWord(runId)}`))] : []),
  ]);
}

const REASONS = {
  time: ' (stopped: time limit)',
  count: ' (older runs are not searched)',
  enough: ' (stopped: enough matches)',
} as const;

/** States how much output was searched, because there may be a match in output that was not searched. */
function describeSearched({ runs, since, stoppedBy }: Found['searched'], all: boolean): string {
  const back = since === null ? '' : `, back to ${formatDuration(Date.now() - since)} ago`;
  const where = all ? 'every workspace' : 'this workspace (--all for every one)';
  return `Searched the output of the newest ${runs === 1 ? 'run' : `${runs} runs`} of ${where}${back}${stoppedBy === null ? '' : REASONS[stoppedBy]}.`;
}
