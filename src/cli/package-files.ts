import { realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Folders that are on PATH for one shell or one project only. */
const PASSING = /fnm_multishells|node_modules/;

/**
 * The name on PATH of the Node that runs us. A version manager's own path changes with each upgrade and would leave
 * clients with a dead command; the link on PATH moves along.
 */
export function nodeOnPath(execPath: string, path: string | undefined): string {
  const real = realPath(execPath);
  const folders = (path ?? '').split(delimiter).filter(folder => isAbsolute(folder) && !PASSING.test(folder));
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

/** The package as it lies on disk; the bundle is in its `dist` folder. */
const root = join(__dirname, '..');

/** How another program starts Squad. Both paths are absolute: a client started from a dock has no useful PATH. */
export const squadProgram = (): { node: string; script: string } => ({
  node: nodeOnPath(process.execPath, process.env.PATH),
  script: join(root, 'bin', 'squad.cjs'),
});
export const shippedRoles = join(root, 'roles');
export const mcpConfigSchema = join(root, 'schemas', 'mcp-config.schema.json');
export const subagentSchema = join(root, 'schemas', 'subagent.schema.json');
/** The page of a saved run: `saved.js` and `saved.css`. */
export const savedPageFolder = join(root, 'dist', 'web-saved');
