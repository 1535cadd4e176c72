import { describe, expect, test } from 'vitest';
import { newRunId } from '../../schema/ids.ts';
import type { RoleMeta } from '../../schema/role.ts';
import { type NetworkAccess, NO_SANDBOX, type RunSandbox, type SandboxLevel } from '../../schema/sandbox.ts';
import { planSandbox, type SandboxAsk } from './plan-sandbox.ts';

const setting = <T>(value: T) => ({ value, origin: 'user' as const, source: 'config.json' });
const config = (
  sandbox: SandboxLevel | null = null,
  network: NetworkAccess | null = null,
  read: string[] = [],
) => ({
  sandbox: setting(sandbox),
  network: setting(network),
  sandboxRead: setting(read),
});
const role = (meta: RoleMeta, more: Partial<NonNullable<SandboxAsk['role']>> = {}) => ({
  ...{ meta, ungranted: [], ...more },
});
const box = (level: SandboxLevel, network: NetworkAccess = 'full', hosts: string[] = []): RunSandbox => ({
  ...{ level, network, hosts, read: [] },
});
const parent = (sandbox: RunSandbox) => ({ id: newRunId(), sandbox });
const BROKEN = { reason: 'bubblewrap was not found', suggestions: ['Install bubblewrap.'] };

const plan = (more: Partial<SandboxAsk> = {}) =>
  planSandbox({
    request: {},
    role: null,
    config: config(),
    parent: null,
    isDefault: true,
    engine: { sandboxLimit: null },
    chat: null,
    problem: async () => null,
    ...more,
  });
const planned = async (more: Partial<SandboxAsk>) => (await plan(more)).sandbox;

describe('the level', { tags: ['I1'] }, () => {
  test.each<[string, Partial<SandboxAsk>, RunSandbox]>([
    ['workspace by default', {}, box('workspace')],
    ['off without a default', { isDefault: false }, NO_SANDBOX],
    ['of the settings', { config: config('strict'), isDefault: false }, box('strict', 'models')],
    [
      'of the role before the settings',
      { role: role({ sandbox: 'off' }), config: config('strict') },
      NO_SANDBOX,
    ],
    [
      'of the call before the role',
      { request: { sandbox: 'workspace' }, role: role({ sandbox: 'off' }) },
      box('workspace'),
    ],
    [
      'of the user for what can be read',
      { config: config(null, null, ['/data']) },
      { ...box('workspace'), read: ['/data'] },
    ],
  ])('is %s', async (_what, ask, expected) => {
    expect(await planned(ask)).toEqual(expected);
  });

  test('that was asked for and is not available is refused, with the reason and the next step', async () => {
    const asks: Partial<SandboxAsk>[] = [
      { request: { sandbox: 'workspace' } },
      { role: role({ sandbox: 'strict' }) },
      { config: config('workspace'), isDefault: false },
      { request: { network: 'none' } },
      { parent: parent(box('workspace')) },
      { request: { keeps: box('workspace') } },
    ];
    for (const ask of asks)
      await expect(plan({ ...ask, problem: async () => BROKEN })).rejects.toMatchObject({
        code: 'SANDBOX_UNAVAILABLE',
        message: expect.stringContaining(BROKEN.reason),
        suggestions: BROKEN.suggestions,
      });
  });

  test('that is only the default and is not available is off, and the result says why', async () => {
    expect(await plan({ problem: async () => BROKEN })).toEqual({
      sandbox: NO_SANDBOX,
      note: 'Not sandboxed: bubblewrap was not found.',
    });
    expect(await plan({ isDefault: false, problem: async () => BROKEN })).toEqual({
      sandbox: NO_SANDBOX,
      note: null,
    });
  });

  test('of an engine whose files are unknown is off unless asked for; an engine that cannot be sandboxed is refused', async () => {
    const onRequest = { sandboxLimit: { kind: 'on_request' as const, reason: 'unknown files' } };
    const never = { sandboxLimit: { kind: 'never' as const, reason: 'it has its own' } };
    expect(await plan({ engine: onRequest })).toMatchObject({
      sandbox: NO_SANDBOX,
      note: expect.stringContaining('unknown files'),
    });
    expect(await planned({ engine: onRequest, request: { sandbox: 'workspace' } })).toEqual(box('workspace'));
    await expect(plan({ engine: never, request: { sandbox: 'workspace' } })).rejects.toMatchObject({
      code: 'SANDBOX_UNAVAILABLE',
      message: expect.stringContaining('it has its own'),
    });
  });
});

describe('the network', { tags: ['I2'] }, () => {
  test.each<[string, Partial<SandboxAsk>, RunSandbox]>([
    [
      'needs a sandbox to be limited',
      { request: { network: 'none' }, isDefault: false },
      box('workspace', 'none'),
    ],
    [
      'is limited by a list of hosts alone',
      { role: role({ hosts: ['a.example'] }) },
      box('workspace', 'models', ['a.example']),
    ],
    [
      'is limited by a list of hosts that is not trusted, without those hosts',
      { role: role({}, { ungranted: ['hosts'], isUntrusted: true }) },
      box('workspace', 'models'),
    ],
    [
      'has no hosts if it is full',
      { role: role({ network: 'full', hosts: ['a.example'] }) },
      box('workspace'),
    ],
    [
      'of a call overrules a role without a sandbox',
      { request: { network: 'models' }, role: role({ sandbox: 'off' }) },
      box('workspace', 'models'),
    ],
    [
      'of a role does not matter to a call without a sandbox',
      { request: { sandbox: 'off' }, role: role({ network: 'models' }) },
      NO_SANDBOX,
    ],
    [
      'of the settings gives way to a stricter level of the call',
      { request: { sandbox: 'strict' }, config: config(null, 'full') },
      box('strict', 'models'),
    ],
  ])('%s', async (_what, ask, expected) => {
    expect(await planned(ask)).toEqual(expected);
  });

  test.each<[string, Partial<SandboxAsk>]>([
    ['strict with the full network', { request: { sandbox: 'strict', network: 'full' } }],
    ['strict in the settings, full in the call', { request: { network: 'full' }, config: config('strict') }],
    ['a limit without a sandbox', { role: role({ sandbox: 'off', network: 'none' }) }],
  ])('%s is refused', async (_what, ask) => {
    await expect(plan(ask)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});

describe('a role that is not trusted', { tags: ['I1'] }, () => {
  test.each<[RoleMeta, RunSandbox]>([
    [{ sandbox: 'workspace' }, box('strict', 'models')],
    [{ sandbox: 'strict', network: 'none' }, box('strict', 'none')],
    [{ network: 'models' }, box('strict', 'models')],
  ])('with %j makes strict settings no weaker', async (meta, expected) => {
    expect(await planned({ role: role(meta, { isUntrusted: true }), config: config('strict') })).toEqual(
      expected,
    );
  });
});

describe('a run that another run starts', { tags: ['I1'] }, () => {
  const strict = box('strict', 'models', ['a.example', '*.b.example']);

  test.each<[string, Partial<SandboxAsk>, RunSandbox]>([
    ['is confined like it', { isDefault: false, parent: parent(strict) }, strict],
    ['whatever its role says', { role: role({ sandbox: 'off' }), parent: parent(strict) }, strict],
    [
      'with those of its own hosts that it may reach',
      {
        role: role({ hosts: ['a.example', 'x.b.example', 'b.example', 'c.example', '*.example'] }),
        parent: parent(strict),
      },
      box('strict', 'models', ['a.example', 'x.b.example']),
    ],
    [
      'or more',
      { request: { sandbox: 'strict', network: 'none' }, parent: parent(box('workspace')) },
      box('strict', 'none'),
    ],
    [
      'and freely if it is not confined',
      { request: { sandbox: 'off' }, parent: parent(NO_SANDBOX) },
      NO_SANDBOX,
    ],
  ])('%s', async (_what, ask, expected) => {
    expect(await planned(ask)).toEqual(expected);
  });

  test.each([{ sandbox: 'off' as const }, { sandbox: 'workspace' as const }, { network: 'full' as const }])(
    'cannot be given %j',
    async request => {
      await expect(plan({ request, parent: parent(strict) })).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
    },
  );
});

describe('a retry or a reply', { tags: ['I1'] }, () => {
  const chatId = 'chat-1';

  test('keeps the sandbox of its run', async () => {
    const keeps = box('strict', 'none');
    expect(await planned({ request: { keeps }, role: role({ sandbox: 'off' }) })).toEqual(keeps);
    expect(await planned({ request: { keeps, chatId }, chat: 'inside', config: config('off') })).toEqual(
      keeps,
    );
  });

  test('continues a chat outside a sandbox where it began, whatever is set now', async () => {
    const ask = {
      request: { keeps: NO_SANDBOX, chatId },
      chat: 'outside' as const,
      config: config('strict'),
    };
    expect(await plan(ask)).toEqual({ sandbox: NO_SANDBOX, note: null });
    await expect(plan({ ...ask, parent: parent(box('workspace')) })).rejects.toMatchObject({
      code: 'SANDBOX_UNAVAILABLE',
    });
  });

  test('a chat is not moved into a sandbox or out of it', async () => {
    const outside = { request: { chatId }, chat: 'outside' as const };
    expect((await plan(outside)).note).toContain('began outside');
    await expect(plan({ ...outside, request: { chatId, sandbox: 'workspace' } })).rejects.toMatchObject({
      code: 'SANDBOX_UNAVAILABLE',
    });
    const inside = { request: { chatId }, chat: 'inside' as const, isDefault: false };
    expect(await planned(inside)).toEqual(box('workspace'));
    await expect(plan({ ...inside, request: { chatId, sandbox: 'off' } })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining(chatId),
    });
  });
});
