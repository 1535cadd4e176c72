import { offThread } from '../../core/off-thread.ts';
import { buildContext, type Context } from '../../core/roles/context.ts';
import type { Config } from '../../schema/config.ts';
import { readContextFiles } from './context-files.ts';

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
