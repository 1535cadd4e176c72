import { longestStart } from '../../core/output/digest.ts';
import type { Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import type { Services } from '../operation.ts';
import { branchNotes } from './run-work.ts';

/** Notes about one run in a result about several. The next step comes first, because long notes are cut. */
export const notesOfRun = (services: Pick<Services, 'engines'>, run: Run): string[] => [
  ...loginHint(services, run),
  ...branchNotes(run),
  ...run.notes,
];

/** How to log in is something only a person can do: the model is to pass it on. */
export function loginHint({ engines }: Pick<Services, 'engines'>, { engine, error }: Run): string[] {
  if (error?.code !== 'ENGINE_NOT_LOGGED_IN') return [];
  return engines.clis().flatMap(({ cli, login }) => (cli === engine ? [`For the user: ${login}`] : []));
}

/** In at most `budget` characters of JSON. A cut is marked: a server that the run had to do without may be behind it. */
export function fitNotes(notes: readonly string[], id: string, budget: number): string {
  const whole = notes.join(' ');
  if (longestStart(whole, budget) === whole) return whole;
  const mark = ` … (\`squad show ${shellWord(id)}\` has all notes)`;
  return longestStart(whole, budget - mark.length) + mark;
}
