import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { parse } from 'jsonc-parser';
import { fields } from '../json-line.ts';

/** The MCP servers the user configured for themselves: opencode can only turn them off by name. */
export function usersServers(env: Record<string, string>): string[] {
  const names = usersFiles(env).flatMap(file => Object.keys(fields(fields(parsed(file)).mcp)));
  return [...new Set(names)];
}

function usersFiles(env: Record<string, string>): string[] {
  const {
    XDG_CONFIG_HOME: moved = '',
    HOME = '/',
    OPENCODE_CONFIG: named,
    OPENCODE_CONFIG_DIR: folder,
  } = env;
  const folders = [
    join(isAbsolute(moved) ? moved : join(HOME, '.config'), 'opencode'),
    ...(folder ? [folder] : []),
  ];
  return [...folders.flatMap(path => NAMES.map(name => join(path, name))), ...(named ? [named] : [])];
}

const NAMES = ['config.json', 'opencode.json', 'opencode.jsonc'];

function parsed(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'), [], { allowTrailingComma: true });
  } catch {
    return null; // not there, or not to be read: opencode will not read it either
  }
}
