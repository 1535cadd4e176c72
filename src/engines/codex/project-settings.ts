import type { ProjectSettings } from '../project-commands.ts';
import { trustedIn } from './user-config.ts';

/** Marking the folder as untrusted would keep its settings out, and its AGENTS.md too. */
export function codexProjectSettings(config: string): ProjectSettings {
  const trusted = trustedIn(config);
  return {
    cli: 'Codex',
    program: 'codex',
    files: ['.codex/config.toml', '.codex/hooks.json'],
    runsCommands: /^[ \t{[]*"?(mcp_servers|hooks|notify|model_provider|openai_base_url|chatgpt_base_url)/m,
    isTrusted: folder => trusted.includes(folder),
  };
}
