import { dirname, join } from 'node:path';
import { userFilePath } from '../settings/config-files.ts';
import type { TemplatesFolder } from './agent-templates.ts';

export interface TemplatePlaces {
  /** Null when the caller has none. */
  workspace: string | null;
  env: Record<string, string>;
  /** The folder that came with Squad. */
  shipped: string;
}

/** Where templates are looked for, nearest first. */
export function templateFolders(
  kind: 'tool' | 'prompt',
  { workspace, env, shipped }: TemplatePlaces,
): TemplatesFolder[] {
  const name = kind === 'tool' ? 'templates' : 'prompts';
  const user = userFilePath(env);
  return [
    ...(workspace === null
      ? []
      : [{ directory: join(workspace, '.squad', name), from: 'workspace' as const }]),
    ...(user === null ? [] : [{ directory: join(dirname(user), name), from: 'user' as const }]),
    { directory: join(shipped, kind === 'tool' ? 'agents' : 'prompts'), from: 'shipped' },
  ];
}
