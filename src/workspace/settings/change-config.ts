import { mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { applyEdits, type JSONPath, modify } from 'jsonc-parser';
import { needsTrust } from '../../core/settings/config.ts';
import { UserFile, WorkspaceFile } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import { withLock } from '../files/file-lock.ts';
import { checkJson, type JsonProblem } from '../files/json-file.ts';
import { readTextFile, replaceFile, unwritten } from '../files/text-file.ts';
import { placeToWrite } from '../gateway/change-mcp-config.ts';
import { replaceTeamFile } from '../team/team-file.ts';
import { MAX_SETTINGS_BYTES, parseSettings } from './config-files.ts';
import { isTrusted, trust } from './trust.ts';

export interface ChangedSetting {
  file: string;
  /** Value that the file has now. Undefined if it is not set. */
  value: unknown;
  /** False if the file has parts that need trust and is not trusted. */
  isTrusted: boolean;
}

export interface SettingChange {
  path: string[];
  /** Words that the user typed. Null removes the setting. */
  words: readonly string[] | null;
}

export const workspaceFilePath = (workspace: string): string => join(workspace, '.squad', 'squad.json');

/** Changes a setting in the user's own file. */
export const changeUserFile = (home: string, file: string, change: SettingChange): Promise<ChangedSetting> =>
  changeFile(home, file, UserFile, change, async (_, after) => {
    // Configuration files are often links into a repository. The link stays a link.
    const target = await realpath(file).catch(() => file);
    await mkdir(dirname(target), { recursive: true });
    await replaceFile(target, after, { mode: 0o644, keepsMode: true });
    return true;
  });

/**
 * Changes a setting in `.squad/squad.json`. The new text is trusted if the file is new, was trusted, or had nothing
 * that needs trust. In each case the user has just written every part that takes effect.
 */
export const changeWorkspaceFile = (
  home: string,
  workspace: string,
  change: SettingChange,
): Promise<ChangedSetting> => {
  const file = workspaceFilePath(workspace);
  return changeFile(home, file, WorkspaceFile, change, async (before, after) => {
    const { agentsDir, ...settings } = before === null ? {} : parseSettings(file, before, WorkspaceFile);
    const isHarmless = agentsDir === undefined && !needsTrust(settings);
    const mayTrust = before === null || isHarmless || (await isTrusted(home, file, before));
    const target = await placeToWrite(workspace, file);
    await replaceTeamFile(target, Buffer.from(after));
    if (mayTrust) await trust(home, target, after);
    return mayTrust;
  });
};

type Schema = typeof UserFile | typeof WorkspaceFile;

async function changeFile(
  home: string,
  file: string,
  schema: Schema,
  { path, words }: SettingChange,
  write: (before: string | null, after: string) => Promise<boolean>,
): Promise<ChangedSetting> {
  return withLock(join(home, 'config.lock'), async () => {
    const before = await textOf(file);
    const text = before ?? '{}\n';
    parseSettings(file, text, schema);
    const { after, value } = edited(text, schema, path, words);
    // The file is checked again, because editors do not use Squad's lock.
    if ((await textOf(file)) !== before)
      throw new SquadError(
        'CONFIG_INVALID',
        `${file} was changed by another program at the same time. Nothing was written.`,
        {
          suggestions: ['Run the command again.'],
        },
      );
    return { file, value, isTrusted: await write(before, after) };
  }).catch(thrown => {
    throw unwritten(file, thrown);
  });
}

async function textOf(file: string): Promise<string | null> {
  const read = await readTextFile(file, MAX_SETTINGS_BYTES);
  if ('missing' in read) return null;
  if ('text' in read) return read.text;
  throw new SquadError('CONFIG_INVALID', `${file} ${read.fault}.`, {
    suggestions: ['Fix or remove the file, then try again. Nothing was written.'],
  });
}

/**
 * Text of the file with the new value. The user's words can be read in several ways, and the first one that the
 * schema accepts counts.
 */
function edited(
  text: string,
  schema: Schema,
  path: string[],
  words: readonly string[] | null,
): { after: string; value: unknown } {
  let problem: JsonProblem | null = null;
  for (const value of words === null ? [undefined] : readingsOf(words)) {
    const after = withValue(text, path, value);
    const checked = checkJson(after, schema, true);
    if ('value' in checked) return { after, value };
    // The error of the last reading is kept, because that reading is the simplest.
    [problem] = checked.problems;
  }
  throw new SquadError(
    'CONFIG_INVALID',
    `${path.join('.')} cannot be ${JSON.stringify(words?.join(' '))}: ${problem?.message}. Nothing was written.`,
    {
      suggestions: [
        problem?.suggestion ??
          'Write a list as several words or as JSON (\'["npm", "test"]\'), and an object as JSON.',
      ],
    },
  );
}

function readingsOf(words: readonly string[]): unknown[] {
  const [only = ''] = words;
  if (words.length > 1) return [[...words]];
  try {
    return [only, [only], JSON.parse(only)];
  } catch {
    return [[only], only]; // the words are not JSON
  }
}

/** Changes one value. Every other byte stays, including comments. */
function withValue(text: string, path: JSONPath, value: unknown): string {
  const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? '  ';
  const formattingOptions = {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.length,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  };
  return applyEdits(text, modify(text, path, value, { formattingOptions }));
}
