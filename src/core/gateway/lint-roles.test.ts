import { expect, test } from 'vitest';
import { McpConfig } from '../../schema/mcp-config.ts';
import { lintRoleFiles } from './lint-config.ts';

const config = McpConfig.parse({
  servers: { files: { command: 'x', tools: ['*'] }, mem: { command: 'y', tools: [] } },
});
const lint = (mcp: string[]) =>
  lintRoleFiles(config, [{ id: 'coder', file: 'coder.md', mcp, isTrusted: true }], {
    files: ['read', 'die'],
  });

test('a role file may name servers, their tools, tools nobody has seen yet, and Squad', () => {
  expect(lint(['files', 'files/read', 'mem', 'mem/anything', 'squad/squad_decision_record'])).toEqual([]);
});

test('an unknown server or tool is reported with a suggestion', () => {
  expect(lint(['fils', 'files/dye', 'constructor'])).toEqual([
    { file: 'coder.md', message: 'There is no server "fils"', suggestion: 'Did you mean "files"?' },
    { file: 'coder.md', message: 'There is no tool "dye" in files', suggestion: 'Did you mean "die"?' },
    { file: 'coder.md', message: 'There is no server "constructor"', suggestion: 'Available: files, mem.' },
  ]);
});
