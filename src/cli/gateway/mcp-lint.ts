import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { visibleLine } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import { readTextFile } from '../../workspace/files/text-file.ts';
import {
  type CheckedConfig,
  type ConfigRemark,
  checkMcpConfig,
  mcpConfigPath,
  readMcpConfig,
} from '../../workspace/gateway/mcp-config-file.ts';
import { workspaceRoot } from '../../workspace/settings/cwd.ts';
import { type CliContext, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { withOwnCommand } from '../own-command.ts';
import { inspectedGateway } from './mcp-status.ts';

/** `squad mcp lint [FILE]`: all errors and warnings, with their places. Exit code 2 if there are errors. */
export async function mcpLint(given: string | undefined, context: CliContext): Promise<number> {
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
    if (given !== undefined)
      throw new SquadError('INVALID_INPUT', `There is no file ${file}`, {
        suggestions: ['Check the path, or leave it out to check .squad/mcp-config.json.'],
      });
    return printResult(context, { file, errors: 0, warnings: 0, remarks: [] }, () => [
      `There is no ${file}.`,
      withOwnCommand('Add a server: squad mcp add NAME -- COMMAND'),
    ]);
  }
  // Roles are not checked for another file, which may be meant for another project.
  const known = given === undefined ? await knownHere(context) : { roles: null };
  const checked = checkMcpConfig(read.text, { ...known, env: { ...process.env } as Record<string, string> });
  const remarks = [
    ...checked.remarks.map(remark => ({ file, ...remark })),
    ...(await Promise.all(checked.ofRoles.map(inRoleFile))),
  ];
  const errors = remarks.filter(({ level }) => level === 'error').length;
  const warnings = remarks.length - errors;
  const report = () => [
    ...remarks.flatMap(remark => lines(remark, context)),
    remarks.length === 0
      ? context.style.green(`${file} is in order.`)
      : `${count(errors, 'error')}, ${count(warnings, 'warning')}`,
    ...(checked.config === null && given === undefined
      ? ['The file is invalid and has no effect: the previous version stays in force.']
      : []),
    ...disabledLine(checked.config),
  ];
  const code = errors > 0 ? EXIT.usage : EXIT.done;
  return printResult(context, { file, errors, warnings, remarks }, report, code);
}

function disabledLine(config: CheckedConfig['config']): string[] {
  const ids = Object.keys(config?.disabled ?? {});
  if (ids.length === 0) return [];
  return [`Disabled until corrected: ${ids.map(visibleLine).join(', ')}. The rest of the file has effect.`];
}

type Remark = ConfigRemark & { file: string };
type Known = NonNullable<Parameters<typeof checkMcpConfig>[1]>;

function lines({ file, level, line, column, message, suggestion }: Remark, { style }: CliContext): string[] {
  const mark = level === 'error' ? style.red('error') : style.yellow('warning');
  return [
    `${visibleLine(file)}:${line}:${column}: ${mark}: ${visibleLine(message)}`,
    ...(suggestion === null ? [] : [`  ${visibleLine(suggestion)}`]),
  ];
}

/** Places a remark at the line of the role file that names the servers. */
async function inRoleFile({ file, message, suggestion }: CheckedConfig['ofRoles'][number]): Promise<Remark> {
  const read = await readTextFile(file);
  const at = 'text' in read ? read.text.split('\n').findIndex(line => line.startsWith('mcp:')) : 0;
  return {
    file,
    level: 'warning',
    line: Math.max(at, 0) + 1,
    column: 1,
    message,
    suggestion: suggestion ?? null,
  };
}

/** Without a hub, roles and tools are not checked. */
async function knownHere(context: CliContext): Promise<Omit<Known, 'env'>> {
  const gateway = await inspectedGateway(context).catch(() => null);
  if (gateway === null) return { roles: null };
  const { roles, knownTools } = gateway;
  return { roles: roles.map(({ id }) => id), tools: knownTools, roleFiles: roles };
}

const count = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`;
