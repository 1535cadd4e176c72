import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { runName } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { wholeNumber, workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { boardTable } from '../runs/ls.ts';
import { tellNotes } from '../team/team.ts';
import { formatDuration } from '../terminal/duration.ts';
import { printJson } from '../terminal/json.ts';
import { truncate } from '../terminal/width.ts';

type Found = Output<'search_everything'>;

export interface SearchOptions {
  all?: boolean;
  limit?: string;
}

/** `squad search WORDS`: runs, decisions and output with these words. */
export async function searchCommand(
  words: string[],
  { all = false, limit }: SearchOptions,
  context: CliContext,
): Promise<number> {
  const most = wholeNumber('--limit', limit ?? '20', 1, 100);
  const found = await HubClient.ask({ workspace: context.workspace }, 'search_everything', {
    ...{ q: words.join(' '), limit: most },
    ...(!all && { workspace: workspaceRoot(context.workspace) }),
  });
  if (context.json) printJson(context.out, found);
  else {
    tellNotes(found.decisions?.notes ?? [], context);
    print(context, [...shown(found, context), context.style.dim(searchedWords(found.searched, all))]);
  }
  return EXIT.done;
}

function shown(found: Found, context: CliContext): string[] {
  const { runs, runsTotal, decisions, outputs } = found;
  const parts = [
    { title: 'Runs', of: runsTotal, lines: runs.length === 0 ? [] : boardTable(runs, context) },
    { title: 'Decisions', of: decisions?.total ?? 0, lines: decisionLines(found, context) },
    { title: 'Output', of: outputs.length, lines: outputLines(found, context) },
  ].filter(({ lines }) => lines.length > 0);
  if (parts.length === 0) return ['Nothing has these words.'];
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
    ...(isMore ? [style.dim(`    and more: squad log ${shellWord(runId)}`)] : []),
  ]);
}

const REASONS = {
  time: ': then the time for one search was up',
  count: ': older ones are not searched',
  enough: ': then there were enough',
} as const;

/** What was not looked at is not told as not found. */
function searchedWords({ runs, since, stoppedBy }: Found['searched'], all: boolean): string {
  const back = since === null ? '' : `, back to ${formatDuration(Date.now() - since)} ago`;
  const where = all ? 'every workspace' : 'this workspace (--all: every one)';
  return `Output of the newest ${runs === 1 ? 'run' : `${runs} runs`} of ${where} was read${back}${stoppedBy === null ? '' : REASONS[stoppedBy]}.`;
}
