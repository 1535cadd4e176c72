import { expect, test } from 'vitest';
import { isSecretArgument, looksSecretValue } from './secrets.ts';

test.each([
  'sk-ant-api03-0123456789abcdef',
  'Authorization: sk-0123456789abcdefghij',
  'gsk_0123456789abcdefghij',
  'ghp_0123456789abcdefghij0123456789abcdef',
  'AKIA0123456789ABCDEF',
  'xoxb-0123456789-abcdef',
  'Bearer 0123456789abcdef',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc',
  '-----BEGIN OPENSSH PRIVATE KEY-----\nabc',
  'postgres://me:hunter2@db.example/app',
  'https://mcp.example/?api_key=0123456789',
])('is a secret: %s', text => {
  expect(looksSecretValue(text)).toBe(true);
});

test.each([
  '',
  'task-runner-with-a-long-name',
  `Bearer \${TOKEN}`,
  `postgres://me:\${PASSWORD}@db.example/app`,
  'https://mcp.example/?page=0123456789',
  '@modelcontextprotocol/server-filesystem@2026.8.31',
  'Token of appreciation',
])('is none: %s', text => {
  expect(looksSecretValue(text)).toBe(false);
});

test.each<[string[], boolean[]]>([
  [
    ['--api-key', '0123456789'],
    [false, true],
  ],
  [['--token=0123456789'], [true]],
  [[`--token=\${TOKEN}`], [false]],
  [
    ['--token', '--verbose'],
    [false, false],
  ],
  [
    ['--key', './server.pem', '--secret-file', 'somewhere-else'],
    [false, false, false, false],
  ],
  [
    ['--name', '0123456789'],
    [false, false],
  ],
])('of the arguments %j those are: %j', (args, expected) => {
  expect(args.map((_, index) => isSecretArgument(args, index))).toEqual(expected);
});
