import { join } from 'node:path';
import type { TurnInput } from '../../core/ports/engine.ts';
import { projectFolders, upwards } from '../project-commands.ts';
import { readProjectText, readText } from '../read-text.ts';
import { namesIn } from '../saved-chats/chat-files.ts';

export const codexHome = (env: Record<string, string>): string | null =>
  env.CODEX_HOME || (env.HOME ? join(env.HOME, '.codex') : null);

/** The user's `config.toml`, or an empty string. */
export function userConfig(env: Record<string, string>): string {
  const home = codexHome(env);
  return home === null ? '' : readText(join(home, 'config.toml'));
}

/**
 * Names of the user's MCP servers, from the tables that `codex mcp add` writes. Codex cannot turn off all servers at
 * once, so each is turned off by name. Only names that need no quotes in a TOML key are found.
 */
export function serversIn(toml: string): string[] {
  const tables = toml.matchAll(/^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(["']?)([\w-]+)\1[ \t]*[\].]/gm);
  return [...new Set([...tables].map(([, , name]) => name!))];
}

/** The value of the top-level key `model`. */
export function modelIn(toml: string): string | null {
  const [topLevel = ''] = toml.replace(MULTI_LINE, '""').split(/^[ \t]*\[/m);
  const found = /^[ \t]*(["']?)model\1[ \t]*=[ \t]*(?:"([^"\\\n]+)"|'([^'\n]+)')/m.exec(topLevel);
  return found?.[2] ?? found?.[3] ?? null;
}

/** Multi-line strings, which may contain lines that look like keys. */
const MULTI_LINE = /"""[\s\S]*?"""|'''[\s\S]*?'''/g;

/** Folders that the user trusts, as Codex stores them. */
export const trustedIn = (toml: string): string[] =>
  [...toml.matchAll(/^\[projects\."([^"\\\n]+)"\]\s*\n\s*trust_level\s*=\s*"trusted"/gm)].map(
    ([, path]) => path!,
  );

/** True if the user or a project around this folder has `.rules` files, which say what commands may do. */
export const hasRules = (env: Record<string, string>, cwd: string): boolean =>
  [codexHome(env) ?? [], ...upwards(cwd).map(folder => join(folder, '.codex'))]
    .flat()
    .some(folder => namesIn(join(folder, 'rules')).some(name => name.endsWith('.rules')));

/** Model from the configuration. The nearest `.codex/config.toml` of a trusted project overrides the user's. */
export function configuredModel({
  env,
  cwd,
  worktree,
}: Pick<TurnInput, 'env' | 'cwd' | 'worktree'>): string | null {
  const config = userConfig(env);
  const [ofProject] = projectFolders(cwd).flatMap(
    folder => modelIn(readProjectText(join(folder, '.codex', 'config.toml'))) ?? [],
  );
  if (ofProject === undefined) return modelIn(config);
  // Whether Codex trusts a work tree depends on the checkout that it was created from.
  if (worktree) return null;
  const trusted = trustedIn(config);
  return upwards(cwd).some(folder => trusted.includes(folder)) ? ofProject : modelIn(config);
}
