import { readdir } from 'node:fs/promises';
import { posix, resolve } from 'node:path';
import { nearest } from '../../base/text.ts';
import { offThread } from '../../core/off-thread.ts';
import { buildContext, type Context, type FoundFile } from '../../core/roles/context.ts';
import { checkText } from '../../core/text.ts';
import type { Config } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import { isInside, resolveInside } from '../files/paths.ts';
import { readTextFile } from '../files/text-file.ts';

/** Default context files, in the order in which an agent reads them. */
const DEFAULTS = ['PRD.md', 'PLAN.md', 'CLAUDE.md', 'AGENTS.md', 'ARCHITECTURE.md'];
/** CLAUDE.md and AGENTS.md are not included, because programs read them only at the root. */
const ALSO_IN_DOCS = ['PRD.md', 'PLAN.md', 'ARCHITECTURE.md'];

/**
 * Reads the files of a context. With `true` these are the default files that exist, otherwise the named files, which
 * must exist.
 */
export async function readContextFiles(root: string, wanted: true | readonly string[]): Promise<FoundFile[]> {
  const names = wanted === true ? await defaultFiles(root) : [...new Set(wanted.map(normalized))];
  const files: FoundFile[] = [];
  for (const name of names) files.push(await readFound(root, name, wanted !== true));
  return files;
}

async function readFound(root: string, file: string, mustExist: boolean): Promise<FoundFile> {
  const path = resolve(root, file);
  if (!isInside(root, path)) throw outside(file, root);
  const place = await resolveInside(root, path);
  if ('outside' in place) {
    if (mustExist) throw outside(file, root);
    return { file, fault: 'is a symbolic link out of the workspace' };
  }
  const read = 'fault' in place ? place : await readTextFile(path);
  if ('text' in read) return { file, text: read.text };
  if ('fault' in read) return { file, fault: read.fault };
  if (!mustExist) return { file, fault: 'was removed while it was read' };
  throw new SquadError('CONTEXT_MISSING', `The context file "${file}" does not exist in ${root}.`, {
    suggestions: await suggestions(root, file),
  });
}

async function defaultFiles(root: string): Promise<string[]> {
  const atRoot = await namesIn(root);
  const inDocs = await namesIn(resolve(root, 'docs'));
  return DEFAULTS.flatMap(name => {
    const own = nameOnDisk(name, atRoot);
    if (own !== undefined) return [own];
    const other = ALSO_IN_DOCS.includes(name) ? nameOnDisk(name, inDocs) : undefined;
    return other === undefined ? [] : [`docs/${other}`];
  });
}

/** Finds a file by its exact name, or else by a name that differs only in case. */
function nameOnDisk(name: string, names: readonly string[]): string | undefined {
  return names.includes(name) ? name : names.find(each => each.toLowerCase() === name.toLowerCase());
}

const namesIn = async (folder: string): Promise<string[]> => (await readdir(folder).catch(() => [])).sort();

/** Normalises a name, so that `./PLAN.md` and PLAN.md are the same file. */
function normalized(name: string): string {
  checkText(name, 'The name of a context file');
  if (name.trim() === '')
    throw new SquadError('INVALID_INPUT', 'The name of a context file is empty.', {
      suggestions: ['Name files relative to the workspace, for example PLAN.md.'],
    });
  return posix.normalize(name);
}

async function suggestions(root: string, file: string): Promise<string[]> {
  const folder = posix.dirname(file);
  const near = nearest(posix.basename(file), await namesIn(resolve(root, folder)));
  return [
    ...(near.length > 0 ? [`Did you mean ${near.map(name => posix.join(folder, name)).join(', ')}?`] : []),
    'Name files relative to the workspace, or use the default ones with `context: true`.',
  ];
}

function outside(file: string, root: string): SquadError {
  return new SquadError('CONTEXT_MISSING', `The context file "${file}" is outside the workspace ${root}.`, {
    suggestions: ['Name files inside the workspace; for a symbolic link, its target counts.'],
  });
}

/** Project context for an agent: from the files in the configuration, or from files that a role or a call names. */
export async function contextOf(
  root: string,
  { context }: Pick<Config, 'context'>,
  wanted: true | string[],
  loadedByEngine: readonly string[],
): Promise<Context> {
  const { files, budgetTokens } = context.value;
  const found = await readContextFiles(root, wanted === true ? (files ?? true) : wanted);
  const size = found.reduce((sum, file) => sum + ('text' in file ? file.text.length : 0), 0);
  return offThread('context', buildContext, size, found, { budgetTokens, loadedByEngine });
}
