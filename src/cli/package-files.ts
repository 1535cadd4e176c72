import { realpathSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { SCHEMA_NAME } from '../workspace/gateway/change-mcp-config.ts';
import { isInRunnerCache, NPX, type SquadProgram } from './own-command.ts';

/** Folders that are on PATH only for one shell or one project. */
const TEMPORARY = /fnm_multishells|node_modules/;

/**
 * The path of `node` on PATH. A version manager's real path changes with each upgrade and would break the command in
 * client configurations; the link on PATH stays valid.
 */
export function nodeOnPath(execPath: string, path: string | undefined): string {
  const real = realPath(execPath);
  const folders = (path ?? '')
    .split(delimiter)
    .filter(folder => isAbsolute(folder) && !TEMPORARY.test(folder));
  const stable = folders.map(folder => join(folder, 'node')).find(candidate => realPath(candidate) === real);
  return stable ?? execPath;
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** Root of the package; the bundle is in its `dist` folder. */
const root = join(__dirname, '..');

/**
 * Command line with which other programs start Squad. Paths are absolute, because a client started from a dock has no
 * useful PATH, and never in a cache.
 */
export const squadProgram = (folder = root): SquadProgram =>
  isInRunnerCache(folder)
    ? NPX
    : {
        command: nodeOnPath(process.execPath, process.env.PATH),
        args: [join(folder, 'bin', 'squad.cjs')],
      };

/** The program that runs now. */
export const squadScript = join(root, 'bin', 'squad.cjs');
export const shippedRoles = join(root, 'roles');
const mcpConfigSchema = join(root, 'schemas', 'mcp-config.schema.json');
const subagentSchema = join(root, 'schemas', 'subagent.schema.json');
/** Assets of an exported run: `saved.js` and `saved.css`. */
export const savedPageFolder = join(root, 'dist', 'web-saved');

/** Writes a new file. Returns false if the file already exists. */
export async function writeStarterFile(path: string, content: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true });
  try {
    await writeFile(path, content, { flag: 'wx' });
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw thrown;
  }
}

/** Writes the JSON Schema that editors use for `.squad/mcp-config.json`. */
export async function writeMcpSchema(workspace: string): Promise<boolean> {
  return writeStarterFile(join(workspace, '.squad', SCHEMA_NAME), await readFile(mcpConfigSchema, 'utf8'));
}

/** Writes the JSON Schema that editors use for subagent files. */
export async function writeSubagentSchema(path: string): Promise<boolean> {
  return writeStarterFile(path, await readFile(subagentSchema, 'utf8'));
}
