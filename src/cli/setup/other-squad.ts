import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { homeFolder } from '../../link/home.ts';
import { replaceFile } from '../../link/replace-file.ts';
import { type CliContext, printNotes } from '../context.ts';
import { type OwnCommand, ownCommand } from '../own-command.ts';

/**
 * Files of bradygaster/squad, which is also called `squad` and keeps its team in `.squad`. Squad itself creates none of
 * them.
 */
const ITS_FILES = [
  '.github/agents/squad.agent.md',
  '.squad/casting',
  '.squad/ceremonies.md',
  '.squad/routing.md',
];

export interface Mixup {
  /** Key of a finding. Equal findings have equal keys, so that each is printed once. */
  key: string;
  what: string;
  next: string;
}

/** Finds files in this folder, and a program on the user's PATH, of another program with the name `squad`. */
export function mixups(root: string, { name, other } = ownCommand()): Mixup[] {
  const files = ITS_FILES.filter(file => existsSync(join(root, file)));
  return [
    ...(other === null ? [] : [otherProgram(other, name)]),
    ...(files.length === 0 ? [] : [otherTeam(root, files)]),
  ];
}

const otherProgram = (other: string, name: OwnCommand['name']): Mixup => ({
  key: `program ${other}`,
  what: `\`squad\` on your PATH is another program: ${other}.`,
  next:
    name === 'squad'
      ? 'To install this Squad as `squad-mcp`: npm install -g squad-mcp'
      : `This Squad is \`${name}\`.`,
});

const otherTeam = (root: string, files: string[]): Mixup => ({
  key: `files ${root}`,
  what: `This folder also has files of another Squad (https://github.com/bradygaster/squad): ${files.join(', ')}.`,
  next: 'Both programs can be used here: this Squad reads the roster, charters and decisions in .squad, and changes nothing that the other program wrote.',
});

/** Like `mixups`, but reports no files if `root` throws, because there is no current folder. */
export function mixupsIn(root: () => string): Mixup[] {
  try {
    return mixups(root());
  } catch {
    return []; // the current folder was removed, and a command that needs it reports that itself
  }
}

/** Prints each finding once per home, and only for a person. `squad doctor` repeats all findings. */
export function printNewMixups(root: () => string, context: CliContext): void {
  const home = homeFolder(process.env);
  // A command that needed no home folder of Squad must not create one.
  if (context.json || !context.err.isTTY || !existsSync(home)) return;
  const file = join(home, 'notices.json');
  const printed = readPrinted(file);
  const fresh = mixupsIn(root).filter(({ key }) => !printed.includes(key));
  if (fresh.length === 0) return;
  printNotes(
    context,
    fresh.map(({ what, next }) => `${what} ${next}`),
  );
  try {
    replaceFile(file, `${JSON.stringify([...printed, ...fresh.map(({ key }) => key)])}\n`, 0o600);
  } catch {
    // The error is ignored, because the command itself succeeded. On a full disk the note is printed again.
  }
}

function readPrinted(file: string): string[] {
  try {
    const keys: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(keys) ? keys.filter(key => typeof key === 'string') : [];
  } catch {
    return []; // the file is missing or damaged, so the notes appear once more
  }
}
