import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SquadError } from '../schema/error.ts';
import { readProjectText } from './read-text.ts';
import { type Fork, isAsTrusted, twinOf } from './worktree-twin.ts';

export interface ProjectSettings {
  /** Name of the CLI as its vendor spells it. */
  cli: string;
  program: string;
  /** Settings files of a project. */
  files: readonly string[];
  /** Keys that make the CLI run commands at its start, or send API keys elsewhere. */
  runsCommands: RegExp;
  /** Whether the user trusts the folder, according to the CLI's own records. */
  isTrusted(folder: string): boolean;
}

/**
 * In headless mode these CLIs do not ask whether a folder is trusted, but apply settings that came with the
 * repository. Squad refuses settings that run commands.
 */
export function refuseProjectCommands(cwd: string, settings: ProjectSettings, fork: Fork = null): void {
  const ownFolder = twinOf(cwd, fork) ?? cwd;
  const isTrusted = upwards(cwd).some(settings.isTrusted);
  const twinIsTrusted = upwards(ownFolder).some(settings.isTrusted);
  for (const file of projectFolders(cwd).flatMap(folder => settings.files.map(name => join(folder, name)))) {
    const key = settings.runsCommands.exec(readProjectText(file))?.[1];
    if (!key || isTrusted) continue;
    const twin = twinOf(file, fork);
    if (!twinIsTrusted) throw refusal(file, key, ownFolder, settings);
    if (!isAsTrusted(file, twin)) throw changed(file, key, twin ?? file, settings);
  }
}

function refusal(file: string, key: string, cwd: string, { cli, program }: ProjectSettings): SquadError {
  return new SquadError(
    'NOT_ALLOWED',
    `${file} came with the repository and sets "${key}", which can make ${cli} run programs or connect to servers. You have not trusted the folder in ${cli}.`,
    {
      suggestions: [
        `Read that file. If you trust it, run \`${program}\` in ${cwd} once and choose to trust the folder.`,
        'Or let another engine do this task.',
      ],
    },
  );
}

/** Error for a work tree in which an agent may have changed a trusted file. */
const changed = (file: string, key: string, twin: string, { cli }: ProjectSettings): SquadError =>
  new SquadError(
    'NOT_ALLOWED',
    `${file} sets "${key}", which can make ${cli} run programs or connect to servers. The file differs from ${twin}, which you have trusted.`,
    {
      suggestions: [
        'Compare the two files. If you want the change, make it in your own checkout too, then try again.',
      ],
    },
  );

/** Folders that may have project settings: this folder and its parents up to the root of its repository. */
export function projectFolders(cwd: string): string[] {
  const folders = upwards(cwd);
  const root = folders.findIndex(isRepository);
  return root === -1 ? [cwd] : folders.slice(0, root + 1);
}

/** Codex's sandbox leaves empty `.git` folders in folders that its agents may write to. They are no repositories. */
function isRepository(folder: string): boolean {
  const path = join(folder, '.git');
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && !(found.isDirectory() && isEmpty(path));
}

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch {
    return false; // an unreadable folder counts as a repository, so settings above it are not used
  }
}

/** The folder and all its parents. */
export function upwards(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...upwards(above)];
}
