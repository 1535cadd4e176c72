import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { SquadError } from '../../../schema/error.ts';
import { shellWord } from '../../../schema/shell-word.ts';
import { readClientFile } from './client-file.ts';
import { type Client, type ClientName, clientNamed, type InstallContext } from './clients.ts';

export interface InstallPlan {
  client: ClientName;
  file: string;
  /** Null: the file will be created. */
  before: string | null;
  after: string;
  /** Unified diff; empty if nothing changes. */
  diff: string;
  changed: boolean;
  modeIfNew: number;
  /** Next steps for the user. */
  next: string;
}

const BOM = '\uFEFF';

/** Plans an install. Reads the client's file and writes nothing. */
export function plan(name: ClientName, context: InstallContext): InstallPlan {
  const client = clientNamed(name);
  const file = chooseFile(client, name, context);
  const before = readClientFile(file);
  const after = edit(file, before ?? '', text => withEntry(client, context, text));
  const changed = after !== before;
  return {
    client: name,
    file,
    before,
    after,
    diff: changed ? unifiedDiff(file, before, after) : '',
    changed,
    modeIfNew: context.project ? 0o644 : 0o600,
    next: [
      client.next(context),
      ...(client.headless === undefined ? [] : [`In a script, allow the tools: \`${client.headless}\``]),
    ].join('\n'),
  };
}

/** Removes Squad's entry, and the table around it if the install created it. Returns the same text without an entry. */
export function withoutEntry(name: ClientName, file: string, text: string, before: string | null): string {
  const { format, entryPath } = clientNamed(name);
  const table = entryPath.slice(0, 1);
  return edit(file, text, bare => {
    const rest = format.remove(bare, entryPath);
    if (rest === bare || format.fields(rest, table)?.length !== 0) return rest;
    const hadTable = before !== null && format.fields(before.replace(BOM, ''), table) !== null;
    return hadTable ? rest : format.remove(rest, table);
  });
}

function withEntry({ format, entryPath, entry }: Client, context: InstallContext, text: string): string {
  // An entry with a URL would get a command as well, so it is replaced.
  const isRemote = format.fields(text, entryPath)?.some(field => /url$/i.test(field)) ?? false;
  return format.put(isRemote ? format.remove(text, entryPath) : text, entryPath, entry(context));
}

function chooseFile(client: Client, name: ClientName, context: InstallContext): string {
  const { project } = context;
  const files = project ? client.projectFiles.map(file => join(project, file)) : client.userFiles(context);
  const file = files.find(candidate => existsSync(candidate)) ?? files[0];
  if (file) return file;
  throw new SquadError('INVALID_INPUT', `${client.title} has no project settings file.`, {
    suggestions: [`Run \`squad install ${shellWord(name)}\` without --project to install for your user.`],
  });
}

/** Adds the file name to errors, and hides a byte order mark from the parsers. */
function edit(file: string, text: string, change: (text: string) => string): string {
  const mark = text.startsWith(BOM) ? BOM : '';
  try {
    return mark + change(text.slice(mark.length));
  } catch (error) {
    if (!(error instanceof SquadError)) throw error;
    throw new SquadError(error.code, `${file}, ${error.message}`, {
      suggestions: error.suggestions,
      cause: error,
    });
  }
}

const unifiedDiff = (file: string, before: string | null, after: string) =>
  createTwoFilesPatch(before === null ? '/dev/null' : file, file, before ?? '', after, undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  });
