import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { visibleLine, visibleText } from '../../base/text.ts';
import { writeEnvironmentFile } from '../../link/environment-file.ts';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { workspaceRoot } from '../../workspace/settings/cwd.ts';
import { confirmWithUser, refuseAgents } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { squadProgram } from '../package-files.ts';
import { hiddenWarningLines } from '../terminal/hidden-warning.ts';
import { printJson } from '../terminal/json.ts';
import type { Style } from '../terminal/style.ts';
import { apply, undo, undoEnvironment } from './install/apply.ts';
import { CLIENT_NAMES, type ClientName } from './install/clients.ts';
import { plan } from './install/plan.ts';

export interface InstallOptions {
  project?: boolean;
  undo?: boolean;
  yes?: boolean;
  dryRun?: boolean;
}

/** `squad install CLIENT`: shows the change to that client's configuration, makes it once agreed, and can take it back. */
export async function installCommand(
  name: string,
  options: InstallOptions,
  context: CliContext,
): Promise<number> {
  const client = knownClient(name);
  if (options.undo && options.dryRun)
    throw new SquadError('INVALID_INPUT', '--undo has no --dry-run', {
      suggestions: [`squad install ${shellWord(client)} --undo`],
    });
  // It writes what the user's own programs start, and with which environment.
  if (!options.dryRun) await refuseAgents();
  const home = homeFolder(process.env);
  const backups = join(home, 'install');
  const project = options.project ? resolve(context.workspace ?? process.cwd()) : undefined;
  if (options.undo) {
    const result = undo(client, backups, project);
    const environment = undoEnvironment(home, backups);
    if (context.json) printJson(context.out, { ...result, environment });
    else print(context, [result.message, ...(environment === null ? [] : [environment])]);
    return EXIT.done;
  }
  const planned = plan(client, {
    home: homedir(),
    env: process.env,
    platform: process.platform,
    ...(project !== undefined && { project }),
    workspace: await projectFolder(context),
    program: squadProgram(),
  });
  const { file, diff, changed } = planned;
  if (!context.json)
    print(
      context,
      changed
        ? [...coloured(diff, context.style), ...hiddenWarningLines(diff, visibleLine(file), context)]
        : [`${file} already has Squad.`],
    );
  const go =
    changed &&
    !options.dryRun &&
    (options.yes ||
      (await confirmWithUser('Write this?', '--yes writes it, --dry-run only shows it.', context)));
  if (changed && !go) {
    if (context.json) printJson(context.out, { client, file, diff, changed, applied: false });
    else print(context, ['Nothing was written.']);
    return EXIT.done;
  }
  apply(planned, backups);
  const saved = options.dryRun ? [] : writeEnvironmentFile(home, process.env);
  if (context.json)
    printJson(context.out, { client, file, diff, changed, applied: changed, environment: saved });
  else
    print(context, [
      ...(changed
        ? [
            `Written to ${file}. Undo: squad install ${shellWord(client)}${options.project ? ' --project' : ''} --undo`,
          ]
        : []),
      `Kept for agents of clients that hand down no environment, in ${join(home, 'env')}: ${saved.join(', ') || 'nothing'}`,
      planned.next,
    ]);
  return EXIT.done;
}

/** Undefined outside of any project, unless the user named that folder: then it is refused. */
async function projectFolder({ workspace: flag }: CliContext): Promise<string | undefined> {
  try {
    const given = { flag, env: process.env, cwd: process.cwd(), userHome: homedir() };
    return (await workspaceRoot(given)).root;
  } catch (error) {
    if (flag) throw error;
    return undefined;
  }
}

function knownClient(name: string): ClientName {
  if ((CLIENT_NAMES as string[]).includes(name)) return name as ClientName;
  throw new SquadError('INVALID_INPUT', `There is no client ${name}`, {
    suggestions: [`Known: ${CLIENT_NAMES.join(', ')}`],
  });
}

const coloured = (diff: string, style: Style) =>
  visibleText(diff)
    .trimEnd()
    .split('\n')
    .map(line => (line.startsWith('+') ? style.green(line) : line.startsWith('-') ? style.red(line) : line));
