import { relative, resolve } from 'node:path';
import type { SubagentFinding } from '../../workspace/subagent/findings.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/sanitize.ts';
import { workspaceRoot } from '../workspace-root.ts';

/** `squad config lint [FILE…]`: what is wrong or has no effect in subagents' files. Exit code 2 when something is wrong. */
export async function lintConfig(given: string[], context: CliContext): Promise<number> {
  const { out, style } = context;
  const root = workspaceRoot(context.workspace);
  const files = given.length > 0 ? given.map(file => resolve(file)) : await filesIn(root);
  if (files.length === 0 && !context.json) {
    print(context, [
      `There is no *.subagent.yaml in ${root}.`,
      'A new one is made by: squad init --subagent NAME',
    ]);
    return EXIT.done;
  }
  // Only this command needs what reads them.
  const { inspectSubagent } = await import('../../workspace/subagent-file.ts');
  const env = { ...process.env } as Record<string, string>;
  const checked = [];
  for (const file of files) checked.push({ file, ...countsOf((await inspectSubagent(file, env)).findings) });
  const errors = sum(checked.map(each => each.errors));
  const warnings = sum(checked.map(each => each.warnings));
  if (context.json) printJson(out, { errors, warnings, files: checked });
  else
    print(context, [
      ...checked.flatMap(({ file, findings }) =>
        findings.length === 0
          ? [style.green(`${shown(file)} is in order.`)]
          : findings.flatMap(finding => lines(file, finding, context)),
      ),
      ...(errors + warnings > 0 ? [`${count(errors, 'error')}, ${count(warnings, 'warning')}`] : []),
    ]);
  return errors > 0 ? EXIT.usage : EXIT.done;
}

async function filesIn(root: string): Promise<string[]> {
  const { subagentFilesIn } = await import('../../workspace/subagent-files-in.ts');
  return subagentFilesIn(root);
}

function countsOf(findings: SubagentFinding[]) {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  return { errors, warnings: findings.length - errors, findings };
}

function lines(
  file: string,
  { severity, line, column, message, suggestion }: SubagentFinding,
  { style }: CliContext,
): string[] {
  const mark = severity === 'error' ? style.red('error') : style.yellow('warning');
  const place = line === null ? shown(file) : `${shown(file)}:${line}:${column}`;
  return [
    `${place}: ${mark}: ${oneLine(message)}`,
    ...(suggestion === null ? [] : [`  ${oneLine(suggestion)}`]),
  ];
}

/** As short as it can be and still be opened from here. */
function shown(file: string): string {
  const way = relative(process.cwd(), file);
  return oneLine(way.startsWith('..') ? file : way);
}

const sum = (numbers: number[]) => numbers.reduce((one, other) => one + other, 0);
const count = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`;
