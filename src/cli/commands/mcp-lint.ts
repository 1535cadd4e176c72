import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { workspaceRoot } from '../../workspace/cwd.ts';
import {
  type ConfigRemark,
  checkMcpConfig,
  mcpConfigPath,
  readMcpConfig,
} from '../../workspace/mcp-config-file.ts';
import { readTextFile } from '../../workspace/text-file.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { inspect } from '../inspect.ts';
import { printJson } from '../output/json.ts';
import { oneLine } from '../output/sanitize.ts';

/** `squad mcp lint [FILE]`: everything that is wrong or odd, with its place. Exit code 2 when something is wrong. */
export async function mcpLint(given: string | undefined, context: CliContext): Promise<number> {
  const { out, style } = context;
  const { root } = await workspaceRoot({
    flag: context.workspace,
    env: process.env,
    cwd: process.cwd(),
    userHome: homedir(),
  });
  const file = given === undefined ? mcpConfigPath(root) : resolve(given);
  const read = given === undefined ? await readMcpConfig(root) : await readTextFile(file);
  if ('fault' in read) throw new SquadError('CONFIG_INVALID', `${file} ${read.fault}.`);
  if ('missing' in read) {
    if (given !== undefined) throw new SquadError('INVALID_INPUT', `There is no file ${file}`);
    if (context.json) printJson(out, { file, errors: 0, warnings: 0, remarks: [] });
    else print(context, [`There is no ${file}.`, 'No servers yet: squad mcp add NAME -- COMMAND']);
    return EXIT.done;
  }
  // A file from elsewhere may be meant for other roles.
  const roles = given === undefined ? await rolesHere(context) : null;
  const { remarks } = checkMcpConfig(read.text, { roles, env: { ...process.env } as Record<string, string> });
  const errors = remarks.filter(({ level }) => level === 'error').length;
  const warnings = remarks.length - errors;
  if (context.json) printJson(out, { file, errors, warnings, remarks });
  else
    print(context, [
      ...remarks.flatMap(remark => lines(file, remark, context)),
      remarks.length === 0
        ? style.green(`${file} is in order.`)
        : `${count(errors, 'error')}, ${count(warnings, 'warning')}`,
    ]);
  return errors > 0 ? EXIT.usage : EXIT.done;
}

function lines(
  file: string,
  { level, line, column, message, suggestion }: ConfigRemark,
  { style }: CliContext,
): string[] {
  const mark = level === 'error' ? style.red('error') : style.yellow('warning');
  return [
    `${file}:${line}:${column}: ${mark}: ${oneLine(message)}`,
    ...(suggestion === null ? [] : [`  ${oneLine(suggestion)}`]),
  ];
}

/** Null where the hub does not say: then roles are not looked at. */
async function rolesHere(context: CliContext): Promise<string[] | null> {
  const inspected = await inspect(context).catch(() => null);
  return inspected?.roles.map(({ id }) => id) ?? null;
}

const count = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`;
