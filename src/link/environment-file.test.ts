import { appendFileSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  environmentFilePath,
  isEnvironmentFileEdited,
  parseEnvironmentFile,
  writeEnvironmentFile,
} from './environment-file.ts';

const newHome = () => join(mkdtempSync(join(tmpdir(), 'squad-env-')), 'home');

test('saves what agents need, owner-only, and nothing else', () => {
  const home = newHome();
  const names = writeEnvironmentFile(home, {
    PATH: '/usr/bin',
    OPENAI_API_KEY: 'sk-1',
    GOOGLE_CLOUD_PROJECT: 'p',
    EDITOR: 'vi',
    SQUAD_TOKEN: 'secret',
    GH_TOKEN: '',
    LANG: undefined,
  });
  expect(names).toEqual(['GOOGLE_CLOUD_PROJECT', 'OPENAI_API_KEY', 'PATH']);
  expect(statSync(environmentFilePath(home)).mode & 0o777).toBe(0o600);
  expect(statSync(home).mode & 0o777).toBe(0o700);
  expect(parseEnvironmentFile(readFileSync(environmentFilePath(home), 'utf8'), 'env')).toEqual({
    GOOGLE_CLOUD_PROJECT: 'p',
    OPENAI_API_KEY: 'sk-1',
    PATH: '/usr/bin',
  });
});

test('values survive newlines, quotes, backslashes, hashes and other scripts', () => {
  const home = newHome();
  const value = 'a\nB=2\r\n"q" \\n #x \t é 日本 \u2028 $HOME `x`';
  writeEnvironmentFile(home, { ANTHROPIC_API_KEY: value });
  const text = readFileSync(environmentFilePath(home), 'utf8');
  expect(parseEnvironmentFile(text, 'env')).toEqual({ ANTHROPIC_API_KEY: value });
});

test('a file that was open to others is closed, and no draft is left', () => {
  const home = newHome();
  writeEnvironmentFile(home, { PATH: 'old' });
  writeFileSync(environmentFilePath(home), 'PATH=/hand', { mode: 0o644 });
  writeEnvironmentFile(home, { PATH: 'new' });
  expect(statSync(environmentFilePath(home)).mode & 0o777).toBe(0o600);
  expect(readdirSync(home)).toEqual(['env']);
});

test('keeps the variables and comments that the user added, and only then the file is the user’s', () => {
  const home = newHome();
  writeEnvironmentFile(home, { PATH: 'old' });
  expect(isEnvironmentFileEdited(home)).toBe(false);
  appendFileSync(environmentFilePath(home), '# mine\nMINE=1\nLANG=C\n');
  expect(isEnvironmentFileEdited(home)).toBe(true);
  for (const PATH of ['new', 'newer']) writeEnvironmentFile(home, { PATH });
  const text = readFileSync(environmentFilePath(home), 'utf8');
  expect(parseEnvironmentFile(text, 'env')).toEqual({ PATH: 'newer', MINE: '1', LANG: 'C' });
  expect(text.match(/^#.*/gm)).toEqual([expect.stringContaining('squad install'), '# mine']);
  expect(isEnvironmentFileEdited(home)).toBe(true);
});

test('a hand-written file with comments, blank lines and bare values is read', () => {
  expect(parseEnvironmentFile('# mine\r\n\r\nA=b c=d\r\n  B="x y"  \nEMPTY=\n', 'env')).toEqual({
    A: 'b c=d',
    B: 'x y',
    EMPTY: '',
  });
});

test.each(['not a variable', '1A=x', 'A="open', 'A="x" trailing'])(
  'a line like %j is named, its text is not',
  line => {
    const read = () => parseEnvironmentFile(`PATH=/bin\n${line}\n`, '/h/env');
    expect(read).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(read).toThrow(/^Line 2 /);
    expect(read).not.toThrow(new RegExp(line.slice(0, 6)));
  },
);
