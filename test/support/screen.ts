import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BIN, type TestSquad, until } from './squad.ts';

let screens = 0;

/** `squad …`, or another program, on a real terminal, by a tmux of which it knows nothing: what a person sees, and every byte the program wrote. */
export class Screen {
  private readonly name = `squad-screen-${process.pid}-${screens++}`;
  private readonly squad: TestSquad;
  private readonly bytes: string;

  private constructor(squad: TestSquad) {
    this.squad = squad;
    this.bytes = join(squad.root, `${this.name}.bytes`);
  }

  static open(
    squad: TestSquad,
    args: string[],
    {
      columns = 100,
      rows = 40,
      env = {},
      program = [process.execPath, BIN],
    }: { columns?: number; rows?: number; env?: Record<string, string>; program?: string[] } = {},
  ): Screen {
    const screen = new Screen(squad);
    // The pane is held back until its bytes are recorded from the first one on, and kept open after the end.
    const gate = join(squad.root, `${screen.name}.gate`);
    const outside = ['env', '-u', 'TMUX', '-u', 'TMUX_PANE'];
    const quoted = [...outside, ...program, ...args].map(word => `'${word.replaceAll("'", `'\\''`)}'`);
    // The first trap keeps the shell, but not the program, from ending at Ctrl-C. The second also holds for `sleep`, which
    // a Ctrl-C would end that arrives just after the program's end.
    const command = `trap : INT; while [ ! -e '${gate}' ]; do sleep 0.02; done; ${quoted.join(' ')}; code=$?; trap '' INT; echo "[exit $code]"; exec sleep 600`;
    const set = Object.entries({ ...squad.env, ...env }).flatMap(([name, value]) => [
      '-e',
      `${name}=${value}`,
    ]);
    screen.tmux(
      'new-session',
      '-d',
      '-s',
      'main',
      '-x',
      String(columns),
      '-y',
      String(rows),
      '-c',
      squad.workspace,
      ...set,
      command,
    );
    screen.tmux('pipe-pane', '-t', 'main', `cat >'${screen.bytes}'`);
    execFileSync('touch', [gate]);
    return screen;
  }

  /** The screen with what has scrolled off it; `colored` adds the escape sequences of its colours. */
  lines({ colored = false } = {}): string[] {
    const escapes = colored ? ['-e'] : [];
    return this.tmux('capture-pane', '-p', ...escapes, '-S', '-', '-t', 'main')
      .trimEnd()
      .split('\n');
  }

  async shows(text: string): Promise<void> {
    await until(`the screen shows ${text}`, () => this.lines().some(line => line.includes(text)));
  }

  /** Waits for the program's end; gives every byte it wrote. */
  async ended(): Promise<{ code: number; bytes: string }> {
    const mark = /\[exit (\d+)\]/;
    const code = await until('the program has ended', () => mark.exec(this.written())?.[1]);
    return { code: Number(code), bytes: this.written().replace(mark, '') };
  }

  press(...keys: string[]): void {
    this.tmux('send-keys', '-t', 'main', ...keys);
  }

  close(): void {
    this.tmux('kill-server');
  }

  private written(): string {
    return existsSync(this.bytes) ? readFileSync(this.bytes, 'utf8') : '';
  }

  private tmux(...args: string[]): string {
    const env = { ...this.squad.env, TMUX_TMPDIR: this.squad.root, TERM: 'xterm-256color' };
    return execFileSync('tmux', ['-L', this.name, '-f', '/dev/null', ...args], { encoding: 'utf8', env });
  }
}
