import { realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Folders that are on PATH for one shell or one project only. */
const TEMPORARY = /fnm_multishells|node_modules/;

/**
 * The path on PATH of the Node that runs this program. A version manager's own path changes with each upgrade, which would
 * break the command in client configurations; the link on PATH stays valid.
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

/** How other programs start Squad. Both paths are absolute, because a client started from a dock has no useful PATH. */
export const squadProgram = (): { node: string; script: string } => ({
  node: nodeOnPath(process.execPath, process.env.PATH),
  script: join(root, 'bin', 'squad.cjs'),
});
export const shippedRoles = join(root, 'roles');
export const mcpConfigSchema = join(root, 'schemas', 'mcp-config.schema.json');
export const subagentSchema = join(root, 'schemas', 'subagent.schema.json');
/** Assets of an exported run: `saved.js` and `saved.css`. */
export const savedPageFolder = join(root, 'dist', 'web-saved');
