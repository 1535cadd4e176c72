import { join } from 'node:path';
import { nodeOnPath } from './node-on-path.ts';

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
