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

/** In the order in which an agent reads them. */
const DEFAULTS = ['PRD.md', 'PLAN.md', 'CLAUDE.md', 'AGENTS.md', 'ARCHITECTURE.md'];
/** Those that tell programs what to do count only at the root, where programs look for them. */
const ALSO_IN_DOCS = ['PRD.md', 'PLAN.md', 'ARCHITECTURE.md'];

/** The files a context is made of: with `true` the usual ones that are there, else those named, all of which must be there. */
export async function readContextFiles(root: string, wanted: true | readonly string[]): Promise<FoundFile[]> {
  const names = wanted === true ? await usualFiles(root) : [...new Set(wanted.map(normal))];
  const files: FoundFile[] = [];
  for (const name of names) files.push(await readFound(root, name, wanted !== true));
  return files;
}

async function readFound(root: string, file: string, mustBeThere: boolean): Promise<FoundFile> {
  const path = resolve(root, file);
  if (!isInside(root, path)) throw outside(file, root);
  const place = await resolveInside(root, path);
  if ('outside' in place) {
    if (mustBeThere) throw outside(file, root);
    return { file, fault: 'is a symbolic link out of the workspace' };
  }
  const read = 'fault' in place ? place : await readTextFile(path);
  if ('text' in read) return { file, text: read.text };
  if ('fault' in read) return { file, fault: read.fault };
  if (!mustBeThere) return { file, fault: 'was removed while it was read' };
  throw new SquadError('CONTEXT_MISSING', `The context file "${file}" does not exist in ${root}.`, {
    suggestions: await suggestions(root, file),
  });
}

async function usualFiles(root: string): Promise<string[]> {
  const atRoot = await namesIn(root);
  const inDocs = await namesIn(resolve(root, 'docs'));
  return DEFAULTS.flatMap(name => {
    const own = asOnDisk(name, atRoot);
    if (own !== undefined) return [own];
    const other = ALSO_IN_DOCS.includes(name) ? asOnDisk(name, inDocs) : undefined;
    return other === undefined ? [] : [`docs/${other}`];
  });
}

/** The very name if there is one, else one that differs only in case. */
function asOnDisk(name: string, names: readonly string[]): string | undefined {
  return names.includes(name) ? name : names.find(each => each.toLowerCase() === name.toLowerCase());
}

const namesIn = async (folder: string): Promise<string[]> => (await readdir(folder).catch(() => [])).sort();

/** One name for one file, so that `./PLAN.md` is known for PLAN.md. */
function normal(name: string): string {
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
    'Name files relative to the workspace, or ask for the usual ones with `context: true`.',
  ];
}

function outside(file: string, root: string): SquadError {
  return new SquadError('CONTEXT_MISSING', `The context file "${file}" is outside the workspace ${root}.`, {
    suggestions: ['Name files inside the workspace; a link is judged by where it leads.'],
  });
}

/** What an agent is told of the project: the files the configuration names, or those a role or a call asks for. */
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
