import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { parse } from 'jsonc-parser';
import type { TurnInput } from '../../core/ports/engine.ts';
import { fields, text } from '../json-line.ts';

/** The user's own MCP servers, which opencode can only disable by name. */
export function usersServers(env: Record<string, string>): string[] {
  const names = usersFiles(env).flatMap(file => Object.keys(fields(fields(parsed(file)).mcp)));
  return [...new Set(names)];
}

/** The model of a new chat. A continued chat keeps its model. */
export function configuredModel({ env, continues }: Pick<TurnInput, 'env' | 'continues'>): string | null {
  if (continues) return null;
  const configs = [...usersFiles(env).map(parsed), parse(env.OPENCODE_CONFIG_CONTENT ?? '')];
  const model = configs.map(config => text(fields(config).model)).findLast(name => name !== null) ?? null;
  // opencode fills in `{env:NAME}` and `{file:PATH}`.
  return model?.includes('{') ? null : model;
}

/** Later files override earlier ones. */
function usersFiles(env: Record<string, string>): string[] {
  const {
    XDG_CONFIG_HOME: moved = '',
    HOME = '/',
    OPENCODE_CONFIG: named,
    OPENCODE_CONFIG_DIR: folder,
  } = env;
  const inFolder = (path: string) => NAMES.map(name => join(path, name));
  return [
    ...inFolder(join(isAbsolute(moved) ? moved : join(HOME, '.config'), 'opencode')),
    ...(named ? [named] : []),
    ...(folder ? inFolder(folder) : []),
  ];
}

const NAMES = ['config.json', 'opencode.json', 'opencode.jsonc'];

function parsed(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'), [], { allowTrailingComma: true });
  } catch {
    return null; // missing or not readable, also for opencode
  }
}
