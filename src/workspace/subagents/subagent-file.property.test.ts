import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { SquadError } from '../../schema/error.ts';
import { SubagentDefaults, SubagentFile, SubagentModel, SubagentServer } from '../../schema/subagent.ts';
import { lintSubagent, readSubagent } from './subagent-file.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-subagent-any-'));
const file = join(root, 'any.subagent.yaml');
afterAll(() => rmSync(root, { recursive: true }));

const keys = [SubagentFile, SubagentModel, SubagentServer, SubagentDefaults].flatMap(({ shape }) =>
  Object.keys(shape),
);
const words = fc.constantFrom(
  'opus',
  'anthropic',
  'stdio',
  'http://x',
  `\${NAME}`,
  '$',
  '',
  '.',
  '{{',
  '__proto__',
);
const { value } = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    words,
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.oneof(fc.constantFrom(...keys, 'constructor', 'x'), fc.string({ maxLength: 3 })),
      tie('value'),
      {
        maxKeys: 6,
      },
    ),
  ),
}));
const anyFile = fc.record(
  {
    models: fc.oneof(
      value,
      fc.array(fc.dictionary(fc.constantFrom(...Object.keys(SubagentModel.shape)), value)),
    ),
    subagent: value,
    defaults: fc.oneof(value, fc.dictionary(fc.constantFrom(...Object.keys(SubagentDefaults.shape)), value)),
    mcpServers: fc.oneof(value, fc.dictionary(fc.string(), value)),
  },
  { requiredKeys: [] },
);

test('whatever a file holds, its author hears what is wrong, and nothing breaks', {
  tags: ['E6'],
}, async () => {
  await fc.assert(
    fc.asyncProperty(anyFile, async content => {
      writeFileSync(file, JSON.stringify(content));
      const findings = await lintSubagent(file, {});
      const refused = await readSubagent(file, {}).then(
        () => null,
        thrown => thrown,
      );
      if (refused) expect(refused).toBeInstanceOf(SquadError);
      // A value that is missing only on this machine is a warning in a check, and an error when the file is used.
      if (findings.some(({ severity }) => severity === 'error')) expect(refused).not.toBeNull();
      if (findings.length === 0) expect(refused).toBeNull();
      for (const { message, line } of findings) {
        expect(message).not.toBe('');
        expect(line).toBe(1);
      }
    }),
    { numRuns: 500 },
  );
});
