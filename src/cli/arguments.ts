import { realpathSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import { visibleLine } from '../base/text.ts';
import { currentFolder } from '../link/program.ts';
import { SquadError } from '../schema/error.ts';
import { type CliContext, openContext } from './context.ts';
import { HubClient } from './hub-client.ts';

/** The value of an option that counts something. */
export function wholeNumber(option: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SquadError('INVALID_INPUT', `${option} cannot be ${JSON.stringify(text)}`, {
    suggestions: [`Give a whole number from ${least} to ${most}.`],
  });
}

/** The value of an option that says how long: 90s, 15m, 2h; a bare number is seconds. */
export function milliseconds(option: string, text: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Math.round(Number(amount) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit]!);
  if (ms >= 1 && ms < 2 ** 31) return ms;
  throw new SquadError('INVALID_INPUT', `${option} cannot be ${JSON.stringify(text)}`, {
    suggestions: ['Write 90s, 15m or 2h, up to 24 days.'],
  });
}

/** All of standard input: what `-` stands for. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Asks a person; where there is none, says how to decide beforehand. */
export async function confirmWithUser(
  question: string,
  withoutPerson: string,
  { out, json }: CliContext,
): Promise<boolean> {
  if (json || !process.stdin.isTTY || !out.isTTY)
    throw new SquadError('ANSWER_NEEDED', `This needs a yes, and nobody is at the terminal: ${question}`, {
      suggestions: [withoutPerson],
    });
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await asking.question(`${visibleLine(question)} [y/N] `).finally(() => asking.close());
  return /^y(es)?$/i.test(answer.trim());
}

/** An agent must not open by itself what the user has not; the hub knows whether this terminal is an agent's. */
export async function refuseAgents(): Promise<void> {
  await HubClient.ask({}, 'change_trust');
}

/** The workspace as the hub names it: absolute, links resolved. */
export function workspaceRoot(given: string | undefined): string {
  const named = given || process.env.SQUAD_WORKSPACE || '.';
  const folder = isAbsolute(named) ? resolve(named) : join(currentFolder(), named);
  try {
    return realpathSync(folder);
  } catch {
    return folder; // a workspace that was removed still has its runs
  }
}

/** How every command is made. */
export interface CommandMaker {
  /** A command with the options all of them share. */
  command(parent: Command, name: string, description: string): Command;
  /** Runs the command's work with its context and keeps its exit code. */
  does(
    work: (context: CliContext, ...words: never[]) => Promise<number>,
  ): (this: Command, ...given: unknown[]) => Promise<void>;
}

export function commandMaker(onCode: (code: number) => void): CommandMaker {
  return {
    command: (parent, name, description) =>
      parent
        .command(name)
        .description(description)
        .addOption(new Option('--json', 'machine-readable output'))
        .addOption(new Option('--workspace <dir>', 'work in this folder instead of the current one'))
        .exitOverride(),
    does: work =>
      async function act(this: Command, ...given: unknown[]) {
        onCode(await work(openContext(this.opts()), ...(given.slice(0, -1) as never[])));
      },
  };
}
