import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nativeProgram } from './native-program.ts';

const NATIVE = `@github/copilot-${process.platform}-${process.arch}/copilot`;
const LAUNCHER = '@github/copilot/npm-loader.js';

describe("the program behind npm's launcher", () => {
  let root: string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'squad-copilot-')));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const file = (...parts: string[]): string => {
    const path = join(root, ...parts);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '', { mode: 0o755 });
    return path;
  };
  const link = (to: string, ...parts: string[]): string => {
    const path = join(root, ...parts);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(to, path);
    return path;
  };

  it('is beside it in node_modules, reached through the link in .bin', () => {
    file('node_modules', LAUNCHER);
    const native = file('node_modules', NATIVE);
    expect(nativeProgram(link(`../${LAUNCHER}`, 'node_modules/.bin/copilot'))).toBe(native);
  });

  it('is inside it when npm nested it', () => {
    file('node_modules', LAUNCHER);
    const native = file('node_modules/@github/copilot/node_modules', NATIVE);
    expect(nativeProgram(link(`../${LAUNCHER}`, 'node_modules/.bin/copilot'))).toBe(native);
  });

  it('is found below a global prefix', () => {
    const launcher = file('prefix/lib/node_modules', LAUNCHER);
    const native = file('prefix/lib/node_modules', NATIVE);
    expect(nativeProgram(link(launcher, 'prefix/bin/copilot'))).toBe(native);
  });

  it('is found in a store that links packages together', () => {
    const launcher = file('node_modules/.pnpm/copilot@1/node_modules', LAUNCHER);
    const native = file('node_modules/.pnpm/copilot@1/node_modules', NATIVE);
    link(dirname(launcher), 'node_modules/@github/copilot');
    expect(nativeProgram(join(root, 'node_modules', LAUNCHER))).toBe(native);
  });

  it('is the launcher itself when there is no package for this machine', () => {
    file('node_modules', LAUNCHER);
    file('node_modules/@github/copilot-beos-m68k/copilot');
    const launcher = link(`../${LAUNCHER}`, 'node_modules/.bin/copilot');
    expect(nativeProgram(launcher)).toBe(launcher);
  });

  it('is the program itself when it is no launcher', () => {
    const program = file('bin/copilot');
    expect(nativeProgram(program)).toBe(program);
    expect(nativeProgram(file('node_modules', NATIVE))).toBe(join(root, 'node_modules', NATIVE));
  });
});
