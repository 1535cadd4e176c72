import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SCHEMA_NAME } from '../../workspace/gateway/change-mcp-config.ts';
import { mcpConfigSchema, subagentSchema } from '../package-files.ts';

/** Writes a new file; false if it exists already. */
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
