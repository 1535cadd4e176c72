import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TurnInput } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { newRunId } from '../../schema/ids.ts';
import type { RunOptions } from '../../schema/run.ts';

export const ENDPOINT = {
  url: 'http://127.0.0.1:4321/mcp',
  token: 'the-token-of-the-run',
  relay: { command: '/bin/squad', args: ['mcp'] },
};

type Given = Partial<Omit<TurnInput, 'options'>> & { options?: Partial<RunOptions> };

/** Temporary folders for one turn, including a home folder of the user. */
export class TurnPlace implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'squad-turn-'));
  readonly home = this.#made('home');
  readonly chatFolder = join(this.folder, 'chats', 'one');

  input({ options, ...given }: Given = {}): TurnInput {
    return {
      runId: newRunId(),
      roleId: '',
      task: 'Say hello',
      prompt: 'Say hello',
      promptFile: join(this.folder, 'prompt.md'),
      cwd: this.folder,
      worktree: null,
      model: null,
      chatId: null,
      continues: false,
      env: { HOME: this.home, PATH: '/usr/bin:/bin' },
      timeoutMs: 60_000,
      endpoint: null,
      files: {
        path: name => join(this.folder, 'turn', name),
        write: async (name, content) => save(join(this.folder, 'turn', name), content),
        chatFolder: this.chatFolder,
        writeInChat: async (name, content) => save(join(this.chatFolder, name), content),
      },
      ...given,
      options: { ...PLAIN_OPTIONS, ...options },
    };
  }

  /** Input of a turn that is only checked before the run starts, so nothing is written. */
  rehearsal(given: Given = {}): TurnInput {
    const files = {
      path: (name: string) => `/${name}`,
      write: async (name: string) => `/${name}`,
      chatFolder: this.chatFolder,
      writeInChat: async (name: string) => join(this.chatFolder, name),
    };
    return this.input({ ...given, files });
  }

  inHome(name: string, content: string): string {
    return save(join(this.home, name), content);
  }

  has(name: string): boolean {
    return existsSync(join(this.folder, name));
  }

  #made(name: string): string {
    const path = join(this.folder, name);
    mkdirSync(path);
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function save(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}
