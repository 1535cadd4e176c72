import { join } from 'node:path';
import { fields, fieldsOf } from '../json-line.ts';
import type { ProjectSettings } from '../project-commands.ts';
import { readText } from '../read-text.ts';

export function claudeProjectSettings(env: Record<string, string>): ProjectSettings {
  const decisions = fields(
    fieldsOf(readText(join(env.CLAUDE_CONFIG_DIR || env.HOME || '/', '.claude.json')))?.projects,
  );
  return {
    cli: 'Claude Code',
    program: 'claude',
    files: ['.claude/settings.json', '.claude/settings.local.json'],
    runsCommands:
      /"(hooks|env|apiKeyHelper|awsAuthRefresh|awsCredentialExport|gcpAuthRefresh|otelHeadersHelper)"\s*:/,
    isTrusted: folder => fields(decisions[folder]).hasTrustDialogAccepted === true,
  };
}
