import { stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { visibleLine } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import type { SubagentFinding } from '../../workspace/subagents/findings.ts';
import { workspaceRoot } from '../arguments.ts';
import { type CliContext, print, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { withOwnCommand } from '../own-command.ts';

/** `squad config lint [FILE or FOLDER…]`: reports errors and settings without effect in subagent files. Exit code 2 on errors. */
export async function lintConfig(given: string[], context: CliContext): Promise<number> {
  const { style } = context;
  const root = workspaceRoot(context.workspace);
  const files = given.length > 0 ? await namedFiles(given) : foundFiles(await filesIn(root));
  if (files.size === 0 && !context.json) {
    print(context, [
      `No *.subagent.yaml or *.cpe.yaml in ${root}.`,
      withOwnCommand('Create one: squad init --subagent NAME'),
    ]);
    return EXIT.done;
  }
  // The reader of subagent files is imported here, because only this command needs it.
  const { lintSubagent } = await import('../../workspace/subagents/subagent-file.ts');
  const env = { ...process.env } as Record<string, string>;
  const checked: ({ file: string } & ReturnType<typeof countsOf>)[] = [];
  for (const [file, isFound] of files)
    checked.push({ file, ...countsOf(await lintSubagent(file, env, { isFound })) });
  const errors = sum(checked.map(each => each.errors));
  const warnings = sum(checked.map(each => each.warnings));
  printResult(context, { errors, warnings, files: checked }, () => [
    ...checked.flatMap(({ file, findings }) =>
      findings.length === 0
        ? [style.green(`${shown(file)} is valid.`)]
        : findings.flatMap(finding => lines(file, finding, context)),
    ),
    ...(errors + warnings > 0 ? [`${count(errors, 'error')}, ${count(warnings, 'warning')}`] : []),
  ]);
  return errors > 0 ? EXIT.usage : EXIT.done;
}

/** Maps the path of a file to true if the file was found by searching a folder, not named by the user. */
type Files = ReadonlyMap<string, boolean>;

async function namedFiles(given: string[]): Promise<Files> {
  const files = new Map<string, boolean>();
  for (const path of given.map(each => resolve(each))) {
    const isFolder = (await stat(path).catch(() => null))?.isDirectory() ?? false;
    const found = isFolder ? await filesIn(path) : [path];
    if (found.length === 0)
      throw new SquadError('INVALID_INPUT', `No *.subagent.yaml or *.cpe.yaml in ${path}`, {
        suggestions: ['If your subagent file has another name, give its path.'],
      });
    for (const file of found) files.set(file, isFolder && (files.get(file) ?? true));
  }
  return files;
}

const foundFiles = (files: string[]): Files => new Map(files.map(file => [file, true]));

async function filesIn(root: string): Promise<string[]> {
  const { subagentFilesIn } = await import('../../workspace/subagents/subagent-file.ts');
  return subagentFilesIn(root);
}

function countsOf(findings: SubagentFinding[]) {
  const countOf = (wanted: SubagentFinding['severity']) =>
    sum(findings.filter(({ severity }) => severity === wanted).map(({ more }) => more ?? 1));
  return { errors: countOf('error'), warnings: countOf('warning'), findings };
}

function lines(
  file: string,
  { severity, line, column, message, suggestion }: SubagentFinding,
  { style }: CliContext,
): string[] {
  const mark = severity === 'error' ? style.red('error') : style.yellow('warning');
  const place = line === null ? shown(file) : `${shown(file)}:${line}:${column}`;
  return [
    `${place}: ${mark}: ${visibleLine(message)}`,
    ...(suggestion === null ? [] : [`  ${visibleLine(suggestion)}`]),
  ];
}

/**
 * A path for display that can be opened from the current folder: the relative path, unless it leads out of that folder.
 */
function shown(file: string): string {
  const path = relative(process.cwd(), file);
  return visibleLine(path.startsWith('..') ? file : path);
}

const sum = (numbers: number[]) => numbers.reduce((one, other) => one + other, 0);
const count = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`;
