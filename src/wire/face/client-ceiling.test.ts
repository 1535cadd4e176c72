import { describe, expect, it } from 'vitest';
import { type Waiter, waitCeilingMs } from './client-of.ts';

const ceiling = (clientName: string | null, more: Partial<Waiter> = {}) =>
  waitCeilingMs({ clientName, transport: 'stream', wantsProgress: true, ...more });

describe('maximum wait of a client', () => {
  it.each([
    ['claude-code', null],
    ['Claude Code', null],
    ['codex-mcp-client', 270_000],
    ['gemini-cli-mcp-client', 540_000],
    ['gemini-cli-mcp-client-squad', 540_000],
    ['qwen-cli-mcp-client-squad', 540_000],
    ['github-copilot-developer', null],
    ['opencode', null],
    ['mcp-inspector', null],
    ['inspector-client', 54_000],
    ['claude-ai', 45_000],
    ['cursor-vscode', 45_000],
    ['Visual Studio Code', 45_000],
    ['JetBrains-IU-copilot-intellij', 45_000],
    ['codexample', 45_000],
    ['not-opencode', 45_000],
    ['', 45_000],
    [null, 45_000],
  ])('%s with heartbeats: %s', (name, expected) => {
    expect(ceiling(name)).toBe(expected);
  });

  it.each<[string, Waiter['transport'], number]>([
    ['claude-code', 'stream', 1_620_000],
    ['claude-code', 'http', 45_000],
    ['codex-mcp-client', 'http', 270_000],
    ['github-copilot-developer', 'stream', 162_000],
    ['opencode', 'stream', 45_000],
    ['qwen-cli-mcp-client-squad', 'stream', 270_000],
    ['mcp-inspector', 'stream', 45_000],
    ['unheard-of', 'http', 45_000],
  ])('%s over %s without heartbeats: %s', (name, transport, expected) => {
    expect(ceiling(name, { transport, wantsProgress: false })).toBe(expected);
  });

  it('is nine tenths of the limit the user chose, whoever the client is', { tags: ['D9'] }, () => {
    expect(ceiling('claude-code', { toolTimeout: '600000' })).toBe(540_000);
    expect(ceiling('codex-mcp-client', { toolTimeout: '3600000' })).toBe(3_240_000);
    expect(ceiling(null, { toolTimeout: '10001' })).toBe(9000);
  });

  it.each(['', ' ', 'soon', '0', '-5', 'NaN', 'Infinity'])(
    'takes no notice of the limit "%s"',
    toolTimeout => {
      expect(ceiling('codex-mcp-client', { toolTimeout })).toBe(270_000);
    },
  );
});
