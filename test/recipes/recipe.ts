import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { AgentRequest } from '../support/as-agent.ts';
import { TestSquad } from '../support/squad.ts';

const GUIDES = join(import.meta.dirname, '..', '..', 'docs', 'guides', 'gateway', 'recipes');
const AS_AGENT = join(import.meta.dirname, '..', 'support', 'as-agent.ts');

/** Local programs that the tests start for `npx -y PACKAGE`: the same packages, as they are installed here. */
const PACKAGES: Record<string, string> = {
  'mcp-postgres-server@0.3.1': import.meta.resolve('mcp-postgres-server/build/index.js'),
  '@modelcontextprotocol/server-slack@2025.4.25': import.meta.resolve(
    '@modelcontextprotocol/server-slack/dist/index.js',
  ),
  '@modelcontextprotocol/server-filesystem@2026.8.31': import.meta.resolve(
    '@modelcontextprotocol/server-filesystem/dist/index.js',
  ),
  '@modelcontextprotocol/server-memory@2026.8.31': import.meta.resolve(
    '@modelcontextprotocol/server-memory/dist/index.js',
  ),
};

export interface Answer {
  result?: { isError?: boolean; content?: { text?: string }[]; tools?: { name: string }[] };
  error?: { code: number; message: string };
}

/** A guide put to use: its configuration in a workspace of its own, trusted, with the variables it asks for. */
export class Recipe implements AsyncDisposable {
  readonly squad: TestSquad;
  /** Role → what the guide's table says it sees. */
  readonly promised: Map<string, string[]>;
  /** SQL statements that the guide tells the user to run first, with this password in place of every password. */
  readonly sql: (password: string) => string;
  private asked = 0;

  constructor(guide: string, variables: Record<string, string>, nodeOptions: string[] = []) {
    const markdown = readFileSync(join(GUIDES, `${guide}.md`), 'utf8');
    const [, config] = /^```json\n([\s\S]*?)^```$/m.exec(markdown)!;
    this.promised = new Map(
      Array.from(markdown.matchAll(/^\| `([a-z-]+)` \| (.*) \|$/gm), ([, role, tools]) => [
        role!,
        Array.from(tools!.matchAll(/`([^`]+)`/g), ([, name]) => name!),
      ]),
    );
    const [, sql = ''] = /^```sql\n([\s\S]*?)^```$/m.exec(markdown) ?? [];
    this.sql = password => sql.replaceAll('…', password);
    this.squad = new TestSquad({ ENGINE_COMMAND: 'scripted', ...variables });
    this.squad.write('.squad/mcp-config.json', config!);
    this.squad.env.PATH = `${this.npxFolder(nodeOptions)}:${this.squad.env.PATH}`;
  }

  async trust(): Promise<void> {
    for (const command of [
      ['mcp', 'lint'],
      ['trust', '-y', '.squad/mcp-config.json'],
    ]) {
      const { code, stdout, stderr } = await this.squad.run(command);
      expect([code, stderr], stdout).toEqual([0, '']);
    }
  }

  /** One run of the role that asks these things of its endpoint. */
  async ask(role: string, requests: AgentRequest[]): Promise<Answer[]> {
    const at = ++this.asked;
    const asks = this.squad.write(`asks-${at}.json`, JSON.stringify(requests));
    const answers = join(this.squad.workspace, `answers-${at}.json`);
    const script = `run ${[process.execPath, AS_AGENT, asks, answers].join(' ')}`;
    const ran = await this.squad.run(['run', role, `Ask.\n\`\`\`script\n${script}\n\`\`\``]);
    expect(ran.code, ran.stdout + ran.stderr).toBe(0);
    return JSON.parse(readFileSync(answers, 'utf8')) as Answer[];
  }

  /**
   * The role sees exactly what the guide promises; each of these works when it is called with `args`; whatever else any role
   * is promised, and `others`, is to it like something that does not exist. Returns the answers by name.
   */
  async holds(
    role: string,
    args: Record<string, Record<string, unknown>>,
    others: string[],
  ): Promise<Record<string, string>> {
    const sees = this.promised.get(role)!;
    expect((await this.shownFor(role)).sort()).toEqual([...sees].sort());
    const hidden = new Set(
      [...this.promised.values()]
        .flat()
        .concat(others)
        .filter(name => !sees.includes(name)),
    );
    const call = (name: string, given = {}) => ({ method: 'tools/call', params: { name, arguments: given } });
    const unknown = `${sees[0]!.split('__')[0]}__never_was`;
    const [list, nothing, ...answers] = await this.ask(role, [
      { method: 'tools/list', until: sees.length },
      call(unknown),
      ...sees.map(name => call(name, args[name])),
      ...[...hidden].map(name => call(name, args[name])),
    ]);
    const listed = list!.result!.tools!.map(({ name }) => name).filter(name => name.includes('__'));
    expect(listed.sort()).toEqual([...sees].sort());
    expect(nothing!.error!.message).toContain(unknown);
    const denied = answers.splice(sees.length);
    [...hidden].forEach((name, at) => {
      expect(JSON.stringify(denied[at])).toBe(JSON.stringify(nothing).replaceAll(unknown, name));
    });
    expect(denied.length).toBeGreaterThan(0);
    answers.forEach((answer, at) => {
      expect([sees[at], answer.error, answer.result?.isError ?? false]).toEqual([sees[at], undefined, false]);
    });
    return Object.fromEntries(
      answers.map((answer, at) => [
        sees[at],
        answer.result!.content!.map(({ text = '' }) => text).join('\n'),
      ]),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.squad[Symbol.asyncDispose]();
  }

  /** The tools of the role as `squad mcp tools` shows them. */
  private async shownFor(role: string): Promise<string[]> {
    const { tools } = await this.squad.json<{ tools: { name: string; isVisible: boolean }[] }>([
      ...['mcp', 'tools', '--role', role],
    ]);
    return tools.filter(({ isVisible }) => isVisible).map(({ name }) => name);
  }

  private npxFolder(nodeOptions: string[]): string {
    const folder = join(this.squad.root, 'bin');
    mkdirSync(folder);
    const cases = Object.entries(PACKAGES).map(
      ([name, url]) =>
        `  ${name}) exec '${process.execPath}' ${nodeOptions.join(' ')} '${fileURLToPath(url)}' "$@" ;;`,
    );
    const lines = [
      '#!/bin/sh',
      'shift; package=$1; shift',
      'case $package in',
      ...cases,
      'esac',
      'exit 127',
      '',
    ];
    writeFileSync(join(folder, 'npx'), lines.join('\n'));
    chmodSync(join(folder, 'npx'), 0o755);
    return folder;
  }
}
