import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach } from 'vitest';
import { lintSubagent, readSubagent } from '../subagents/subagent-file.ts';

export const ENV = { ANTHROPIC_API_KEY: 'sk-test', OPENAI_API_KEY: 'sk-other' };

export const SOUND = {
  models: '\n  - { ref: opus, id: claude-opus-4, type: anthropic }',
  subagent: '\n  name: review_changes\n  description: Reviews a diff.',
  defaults: '\n  model: opus\n  systemPromptPath: ./p.md',
};

/** A subagent file in a temporary folder, for tests of a single file. */
export function sampleSubagent() {
  const root = mkdtempSync(join(tmpdir(), 'squad-subagent-'));
  const file = join(root, 'a.subagent.yaml');
  beforeEach(() => {
    writeFileSync(join(root, 'p.md'), 'You review.\n');
    writeFileSync(join(root, 's.json'), '{ "type": "object" }');
  });
  afterAll(() => rmSync(root, { recursive: true }));
  return {
    root,
    file,
    /** Writes a valid file with some parts replaced. Null removes a part. */
    write(parts: Record<string, string | null> = {}): string {
      const all = Object.entries({ ...SOUND, ...parts }).flatMap(([key, text]) =>
        text === null ? [] : `${key}: ${text}\n`,
      );
      writeFileSync(file, all.join(''));
      return file;
    },
    read: (env: Record<string, string> = ENV) => readSubagent(file, env),
    refusal: (path = file, env: Record<string, string> = ENV) =>
      readSubagent(path, env).then(
        () => null,
        ({ code, message, suggestions }) => ({ code, message, suggestions: suggestions.join(' ') }),
      ),
    findings: async (env: Record<string, string> = ENV) =>
      (await lintSubagent(file, env)).map(
        ({ severity, line, column, message }) => `${severity} ${line}:${column} ${message}`,
      ),
  };
}
