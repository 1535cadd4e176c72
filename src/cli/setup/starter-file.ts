import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SCHEMA_NAME } from '../../workspace/gateway/change-mcp-config.ts';
import { mcpConfigSchema, subagentSchema } from '../package-files.ts';

/** False when something is there already. */
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

/** What editors check the configuration of servers by, beside it. */
export async function layMcpSchema(workspace: string): Promise<boolean> {
  return writeStarterFile(join(workspace, '.squad', SCHEMA_NAME), await readFile(mcpConfigSchema, 'utf8'));
}

/** The same for subagents' files. */
export async function laySubagentSchema(path: string): Promise<boolean> {
  return writeStarterFile(path, await readFile(subagentSchema, 'utf8'));
}
