import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import { visibleLine } from '../base/text.ts';
import { currentFolder } from '../link/program.ts';
import { SquadError } from '../schema/error.ts';
import { findGitFolder } from '../workspace/git/git-folder.ts';
import { type CliContext, openContext } from './context.ts';
import { HubClient } from './hub-client.ts';
import { printNewMixups } from './setup/other-squad.ts';

/** Parses a whole number within bounds. */
export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new SquadError('INVALID_INPUT', `Invalid value for ${option}: ${JSON.stringify(text)}`, {
    suggestions: [`Use a whole number from ${min} to ${max}.`],
  });
}

export const limitOption = (description: string, usual: number, max: number): Option =>
  new Option('-n, --limit <n>', description)
    .argParser(text => wholeNumber('--limit', text, 1, max))
    .default(usual);

/** Parses a duration: 90s, 15m, 2h; a plain number is seconds. */
export function milliseconds(option: string, text: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Math.round(Number(amount) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit]!);
  if (ms >= 1 && ms < 2 ** 31) return ms;
  throw new SquadError('INVALID_INPUT', `Invalid value for ${option}: ${JSON.stringify(text)}`, {
    suggestions: ['Use a duration like 90s, 15m or 2h, up to 24 days.'],
  });
}

/** Reads all of standard input, for an argument `-`. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Whether a user can be asked: input and output are a terminal, and --json is not set. */
export const mayAsk = ({ out, json }: CliContext): boolean =>
  !json && process.stdin.isTTY === true && out.isTTY;

/** Asks the user to confirm. Without a terminal it throws, and suggests `withoutTerminal`. */
export async function confirmWithUser(
  question: string,
  withoutTerminal: string,
  context: CliContext,
): Promise<boolean> {
  if (!mayAsk(context))
    throw new SquadError(
      'ANSWER_NEEDED',
      `Confirmation is needed, but this is not an interactive terminal: ${question}`,
      {
        suggestions: [withoutTerminal],
      },
    );
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  // Ctrl-D closes the prompt without an answer.
  const closed = new Promise<string>(resolve => prompt.once('close', () => resolve('')));
  const asked = prompt.question(`${visibleLine(question)} [y/N] `).catch(() => '');
  const answer = await Promise.race([asked, closed]).finally(() => prompt.close());
  return /^y(es)?$/i.test(answer.trim());
}

/**
 * Refuses agents, which must not grant themselves permissions. The hub knows whether this terminal belongs to an agent.
 */
export async function refuseAgents(): Promise<void> {
  await HubClient.ask({}, 'change_trust');
}

/** The workspace as the hub names it: an absolute path with links resolved. */
export function workspaceRoot(given: string | undefined): string {
  const named = given || process.env.SQUAD_WORKSPACE || '.';
  const folder = isAbsolute(named) ? resolve(named) : join(currentFolder(), named);
  try {
    return realpathSync(folder);
  } catch {
    return folder; // a deleted workspace still has runs, so its path is used unchanged
  }
}

/**
 * A workspace given with --workspace must exist: otherwise a mistyped path would look like a workspace without runs.
 */
function requireFolder(named: string): void {
  const root = workspaceRoot(named);
  const found = statSync(root, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  throw new SquadError(
    'WORKSPACE_REFUSED',
    `The workspace ${root} (from --workspace) ${found ? 'is not a folder' : 'does not exist'}.`,
    {
      suggestions: [
        'Name the project folder: `--workspace DIR`. `squad ls --all` lists the runs of every workspace.',
      ],
    },
  );
}

/** Throws NOT_A_REPOSITORY if the workspace is in no repository, where "no work trees" would be misleading. */
export async function requireRepository({ workspace }: CliContext): Promise<void> {
  const root = workspaceRoot(workspace);
  if ((await findGitFolder(root)) !== null) return;
  throw new SquadError(
    'NOT_A_REPOSITORY',
    `${root} is not in a git repository, so no run has a work tree there.`,
    {
      suggestions: ['Go to the repository, or name it with `--workspace DIR`.'],
    },
  );
}

/** Examples for the end of a command's help. */
export const examples = (...lines: string[]): string =>
  `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.map(line => `  ${line}`).join('\n')}`;

/** Helper with which every feature registers its commands. */
export interface CommandMaker {
  /** Adds a command with the options that all commands share. */
  command(parent: Command, name: string, description: string): Command;
  /** Turns `work` into an action: passes it the context and the arguments, and reports its exit code. */
  does(
    work: (context: CliContext, ...args: never[]) => Promise<number>,
  ): (this: Command, ...args: unknown[]) => Promise<void>;
}

export const commandMaker = (onExitCode: (code: number) => void): CommandMaker => ({
  command: (parent, name, description) =>
    parent
      .command(name)
      .description(description)
      .option('--json', 'Print JSON')
      .option('--workspace <dir>', 'Use this workspace (default: the current folder)')
      .exitOverride(),
  does: work =>
    async function act(this: Command, ...args: unknown[]) {
      const { workspace } = this.opts<{ workspace?: string }>();
      if (workspace !== undefined) requireFolder(workspace);
      // Commander passes the command itself as the last argument.
      const context = openContext(this.opts());
      onExitCode(await work(context, ...(args.slice(0, -1) as never[])));
      printNewMixups(() => workspaceRoot(context.workspace), context);
    },
});

/** Input for operations that list things: those of this workspace, or with `all` those of every workspace. */
export const workspaceFilter = (
  all: boolean | undefined,
  { workspace }: CliContext,
): { workspace?: string } => (all ? {} : { workspace: workspaceRoot(workspace) });
