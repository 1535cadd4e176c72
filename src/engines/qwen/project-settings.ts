import { join } from 'node:path';
import { fieldsOf } from '../json-line.ts';
import type { ProjectSettings } from '../project-commands.ts';
import { readText } from '../read-text.ts';

export function qwenProjectSettings(env: Record<string, string>): ProjectSettings {
  const home = env.QWEN_HOME || join(env.HOME || '/', '.qwen');
  const levels = fieldsOf(readText(join(home, 'trustedFolders.json'))) ?? {};
  return {
    cli: 'Qwen Code',
    program: 'qwen',
    files: ['.qwen/settings.json'],
    runsCommands: /"(hooks|discoveryCommand|callCommand)"\s*:/,
    isTrusted: folder => levels[folder] === 'TRUST_FOLDER',
  };
}
