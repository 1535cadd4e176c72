import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { nearest, visibleLine, visibleText } from '../../base/text.ts';
import { writeEnvironmentFile } from '../../link/environment-file.ts';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { workspaceRoot } from '../../workspace/settings/cwd.ts';
import { confirmWithUser, refuseAgents } from '../arguments.ts';
import { type CliContext, hiddenWarningLines, print, printNotes, printResult } from '../context.ts';
import { lastingPath, NPX, withOwnCommand } from '../own-command.ts';
import { squadProgram } from '../package-files.ts';
import type { Style } from '../terminal/style.ts';
import { CLIENT_NAMES, type ClientName, clientNamed, movedDatabase } from './install/clients.ts';
import { apply, plan, undo, undoEnvironment } from './install/plan.ts';
import { runningClient } from './install/running-client.ts';

/** Time without a change by the client after which the entry counts as kept. */
const SETTLE_MS = 2_000;

export interface InstallOptions {
  project?: boolean;
  undo?: boolean;
  yes?: boolean;
  dryRun?: boolean;
}

/** `squad install CLIENT`: shows the change to the client's configuration, writes it after confirmation, and can undo it. */
export async function installCommand(
  name: string,
  options: InstallOptions,
  context: CliContext,
): Promise<number> {
  const client = knownClient(name);
  if (options.undo && options.dryRun)
    throw new SquadError('INVALID_INPUT', '--undo and --dry-run cannot be combined', {
      suggestions: [`squad install ${shellWord(client)} --undo`],
    });
  // Agents are refused: the file decides which programs the user's clients start, and with which environment.
  if (!options.dryRun) await refuseAgents();
  const home = homeFolder(process.env);
  const backups = join(home, 'install');
  const project = options.project ? resolve(context.workspace ?? process.cwd()) : undefined;
  const { title, savesFromMemory } = clientNamed(client);
  const { platform } = process;
  /** Processes of the client. If there are any, prints that the file is being checked. */
  const checkRunning = (expectation: string): number[] => {
    const running = runningClient(clientNamed(client), { home: homedir(), platform });
    if (running.length > 0)
      printNotes(context, [
        `${title} is running (process ${running.join(', ')}). Checking for ${SETTLE_MS / 1000} s that ${expectation}.`,
      ]);
    return running;
  };
  if (options.undo) {
    const isRunning = checkRunning('it does not write the entry back').length > 0;
    const result = await undo(client, backups, project, isRunning ? SETTLE_MS : 0);
    const environment = undoEnvironment(home, backups);
    return printResult(context, { ...result, environment }, () => [
      result.message,
      ...(environment === null ? [] : [environment]),
    ]);
  }
  const program = squadProgram();
  const planned = plan(client, {
    home: homedir(),
    env: process.env,
    platform,
    ...(project !== undefined && { project }),
    workspace: await projectFolder(context),
    program,
  });
  const { file, diff, changed } = planned;
  if (!context.json)
    print(
      context,
      changed
        ? [...colorDiff(diff, context.style), ...hiddenWarningLines(diff, visibleLine(file), context)]
        : [`${file} already has Squad.`],
    );
  const isConfirmed =
    changed &&
    !options.dryRun &&
    (options.yes ||
      (await confirmWithUser('Write this?', '--yes writes it, --dry-run only shows it.', context)));
  if (changed && !isConfirmed)
    return printResult(context, { client, file, diff, changed, applied: false }, () => [
      'Nothing was written.',
    ]);
  const running = changed ? checkRunning('it keeps the entry') : [];
  const rewrites = await apply(planned, backups, Date.now(), running.length > 0 ? SETTLE_MS : 0);
  const { PATH } = process.env;
  const lasting = { ...process.env, ...(PATH !== undefined && { PATH: lastingPath(PATH) }) };
  const saved = options.dryRun ? [] : writeEnvironmentFile(home, lasting);
  const undoCommand = withOwnCommand(
    `squad install ${shellWord(client)}${options.project ? ' --project' : ''} --undo`,
  );
  const result = { client, file, diff, changed, applied: changed, running, rewrites, environment: saved };
  return printResult(context, result, () => [
    ...(changed ? [`Wrote ${file}. Undo: ${undoCommand}`] : []),
    ...(rewrites > 0 ? [`The client overwrote the entry, so it was written ${rewrites + 1} times.`] : []),
    ...(running.length > 0 && savesFromMemory
      ? [
          `Close ${title} before you change a setting in it: it would remove the entry, which it has not read.`,
        ]
      : []),
    ...(process.env.SQUAD_DATABASE_URL && !('SQUAD_DATABASE_URL' in movedDatabase(process.env))
      ? [
          `SQUAD_DATABASE_URL has a password, so it is not in the entry. Put the password into ~/.pgpass and install again, or set the variable for ${title}.`,
        ]
      : []),
    `Variables saved in ${join(home, 'env')}, for clients that pass no environment to agents: ${saved.join(', ') || 'none'}`,
    ...(program === NPX
      ? [
          'The entry starts `npx -y squad-mcp`. To start faster, and without npx on the PATH of the client: npm install -g squad-mcp, then install again.',
        ]
      : []),
    planned.next,
  ]);
}

/** The project folder. Undefined outside any project. A folder given by the user must be a project. */
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
  const near = nearest(name, CLIENT_NAMES);
  throw new SquadError('INVALID_INPUT', `Unknown client ${visibleLine(name)}`, {
    suggestions: [
      ...(near.length > 0 ? [`Did you mean ${near.join(' or ')}?`] : []),
      `Clients: ${CLIENT_NAMES.join(', ')}`,
    ],
  });
}

const colorDiff = (diff: string, style: Style) =>
  visibleText(diff)
    .trimEnd()
    .split('\n')
    .map(line => (line.startsWith('+') ? style.green(line) : line.startsWith('-') ? style.red(line) : line));
