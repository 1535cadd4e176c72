import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestSquad } from './squad.ts';

/** A Squad whose workspace is a git repository with one commit, and whose roles are the user's own. */
export class GitSquad extends TestSquad {
  constructor(roles: Record<string, string>, env: Record<string, string> = {}) {
    super({ ENGINE_COMMAND: 'scripted', ...env });
    this.env.SQUAD_AGENTS_DIR = join(this.root, 'roles');
    mkdirSync(this.env.SQUAD_AGENTS_DIR);
    for (const [id, text] of Object.entries(roles)) this.role(id, text);
    makeRepository(this);
  }

  role(id: string, text: string): void {
    writeFileSync(join(this.env.SQUAD_AGENTS_DIR!, `${id}.md`), text);
  }

  /** As the user would, at the top of the workspace. */
  git(...args: string[]): string {
    return this.gitIn(this.workspace, ...args);
  }

  gitIn(folder: string, ...args: string[]): string {
    return userGit(folder, this.env, ...args);
  }
}

/** Makes a workspace a repository with one commit. */
export function makeRepository(squad: TestSquad): void {
  const git = (...args: string[]) => userGit(squad.workspace, squad.env, ...args);
  git('init', '-q', '-b', 'main');
  squad.write('README.md', '# Project\n');
  git('add', '-A');
  git('commit', '-qm', 'First');
}

export function userGit(folder: string, env: Record<string, string>, ...args: string[]): string {
  const identity = ['-c', 'user.name=User', '-c', 'user.email=user@example.com'];
  return execFileSync('git', [...identity, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

export const script = (...lines: string[]): string => `\n\`\`\`script\n${lines.join('\n')}\n\`\`\`\n`;

/** For the nth turn of a chat. */
export const scriptOf = (turn: number, ...lines: string[]): string =>
  `\n\`\`\`script turn ${turn}\n${lines.join('\n')}\n\`\`\`\n`;
