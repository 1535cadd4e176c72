import { dirname, join } from 'node:path';
import { SquadError } from '../../schema/error.ts';
import { type Fields, fieldsOf } from '../json-line.ts';
import { readProjectText, readText } from '../read-text.ts';
import { type Fork, isAsTrusted, twinOf } from '../worktree-twin.ts';
import { usersFolder } from './gemini-settings.ts';

/** Settings that make Gemini CLI run commands when it starts. MCP servers in these settings are disabled anyway. */
const RUNS_COMMANDS = /"(?:discoveryCommand|callCommand|hooks)"\s*:/;

/**
 * In headless mode Gemini CLI needs a setting that trusts the folder, and then applies settings that came with the
 * repository. Squad refuses those that run commands, unless the user trusted the folder in Gemini CLI itself.
 */
export function refuseProjectCommands(cwd: string, env: Record<string, string>, fork: Fork = null): void {
  const file = join(cwd, '.gemini', 'settings.json');
  const found = RUNS_COMMANDS.exec(readProjectText(file));
  if (!found || isTrusted(cwd, env)) return;
  const twin = twinOf(file, fork);
  const ownFolder = twinOf(cwd, fork) ?? cwd;
  const twinIsTrusted = isTrusted(ownFolder, env);
  if (twinIsTrusted && isAsTrusted(file, twin)) return;
  throw new SquadError(
    'NOT_ALLOWED',
    `${file} would make Gemini CLI run commands of the repository (${found[0].slice(1, -1).replace(/"\s*$/, '')})`,
    {
      suggestions: [
        twinIsTrusted
          ? `This file differs from ${twin}, which you have trusted. Compare them. If you want the change, make it in your own checkout too, then try again.`
          : `Read that file. If you trust it, run \`gemini\` in ${ownFolder} once and choose to trust the folder.`,
        'Or let another engine do this task.',
      ],
    },
  );
}

/** The user's decision for the nearest folder counts. */
function isTrusted(cwd: string, env: Record<string, string>): boolean {
  const levels: Fields = fieldsOf(readText(join(usersFolder(env), 'trustedFolders.json'))) ?? {};
  for (let folder = cwd; ; folder = dirname(folder)) {
    const level = levels[folder];
    if (level === 'TRUST_FOLDER' || level === 'DO_NOT_TRUST') return level === 'TRUST_FOLDER';
    if (Object.entries(levels).some(([path, said]) => said === 'TRUST_PARENT' && dirname(path) === folder))
      return true;
    if (folder === dirname(folder)) return false;
  }
}
