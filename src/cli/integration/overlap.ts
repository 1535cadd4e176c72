import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import type { RunId } from '../../schema/ids.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { displayWidth } from '../terminal/width.ts';

const INDENT = '  ';

type Found = Output<'find_overlap'>;

/** `squad overlap`: which work trees have changed the same files. */
export async function overlapCommand(context: CliContext): Promise<number> {
  const found = await HubClient.ask({ workspace: context.workspace }, 'find_overlap');
  if (context.json) printJson(context.out, found);
  else print(context, lines(found, context));
  return EXIT.done;
}

function lines({ runs, files, moreFiles }: Found, { out, style }: CliContext): string[] {
  const unknown = runs.filter(({ why }) => why !== null);
  const trees = runs.length === 1 ? '1 work tree has' : `${runs.length} work trees have`;
  const about = runs.length === 0 ? 'No work tree has changes.' : `${trees} changes that are not merged.`;
  const doubts = unknown.map(({ runId, why }) =>
    style.yellow(`${runId} could not be looked at: ${visibleLine(why ?? '')}`),
  );
  if (files.length === 0) return [`No overlap. ${about}`, ...doubts];
  const nameOf = new Map(runs.map(({ runId, name }) => [runId, name]));
  const who = (id: RunId) => {
    const name = nameOf.get(id) ?? '';
    return `${id} ${style.role(name, visibleLine(name))}`;
  };
  return [
    ...files.flatMap(({ path, runs: ids }) => [
      style.bold(visibleLine(path)),
      ...packed(ids.map(who), out.columns - INDENT.length).map(line => INDENT + line),
    ]),
    ...(moreFiles > 0 ? [style.dim(`and ${moreFiles} more ${moreFiles === 1 ? 'file' : 'files'}`)] : []),
    '',
    ...doubts,
    style.dim('`squad integrate --dry-run` shows whether they conflict.'),
  ];
}

/** As many to a line as there is room for, none of them broken. */
function packed(entries: string[], width: number): string[] {
  const lines: string[] = [];
  for (const entry of entries) {
    const longer = lines.length > 0 ? `${lines.at(-1)}, ${entry}` : entry;
    if (lines.length > 0 && displayWidth(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(entry);
  }
  return lines;
}
