import { readFile } from 'node:fs/promises';
import { environmentFilePath, parseEnvironmentFile } from '../link/environment-file.ts';

/** What `squad install` kept for clients that hand down almost nothing. */
export async function savedEnvironment(home: string): Promise<Record<string, string>> {
  const file = environmentFilePath(home);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return parseEnvironmentFile(text, file);
}

export const definedIn = (env: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
