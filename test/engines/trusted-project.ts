/** A repository whose settings for a CLI run a command, and a user who has set that CLI to trust it. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CliName } from '../../scripts/engine-clis.ts';

interface TrustedProject {
  /** Its file in the repository. */
  settings: string;
  trust(home: string, repository: string): void;
}

/** CLIs that Squad refuses to start in a repository with such settings unless the user trusts it. */
const PROJECTS: Partial<Record<CliName, TrustedProject>> = {
  claude: {
    settings: '.claude/settings.json',
    trust: (home, repository) =>
      merge(join(home, '.claude.json'), { projects: { [repository]: { hasTrustDialogAccepted: true } } }),
  },
  codex: {
    settings: '.codex/hooks.json',
    trust: (home, repository) =>
      appendFileSync(
        join(home, '.codex/config.toml'),
        `\n[projects."${repository}"]\ntrust_level = "trusted"\n`,
      ),
  },
  gemini: {
    settings: '.gemini/settings.json',
    trust: (home, repository) =>
      merge(join(home, '.gemini/trustedFolders.json'), { [repository]: 'TRUST_FOLDER' }),
  },
  qwen: {
    settings: '.qwen/settings.json',
    trust: (home, repository) => {
      merge(join(home, '.qwen/trustedFolders.json'), { [repository]: 'TRUST_FOLDER' });
      merge(join(home, '.qwen/settings.json'), {
        security: { auth: { selectedType: 'openai' }, folderTrust: { enabled: true } },
      });
    },
  },
};

/** Puts both there; says which files the repository has got by it. */
export function trustProject(name: CliName, home: string, repository: string): string[] {
  const project = PROJECTS[name];
  if (!project) return [];
  merge(join(repository, project.settings), { hooks: {} });
  project.trust(home, repository);
  return [project.settings];
}

function merge(file: string, values: object): void {
  mkdirSync(dirname(file), { recursive: true });
  const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  writeFileSync(file, JSON.stringify({ ...before, ...values }));
}
