import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { figure } from '../../../test/faults/figures.ts';
import { checkProperty } from '../testing/check-property.ts';
import {
  exposedName,
  exposedUri,
  isMeant,
  meansAny,
  NameTable,
  names,
  parseExposedUri,
  readExposedName,
} from './tool-names.ts';

const server = fc.oneof(
  fc.stringMatching(/^[a-z][a-z0-9-]{0,23}$/),
  fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/).filter(id => id !== 'squad' && id !== '__proto__'),
  fc.constantFrom('a', 'a_', 'a__', '_a', '_', '__', 'a_b', 'a__b', 'A', 'my_server'),
);
const tool = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,30}$/),
  fc.string({ minLength: 1, maxLength: 60, unit: 'binary' }),
  fc.string({ minLength: 200, maxLength: 200, unit: fc.constantFrom('a', 'b', '_', '.') }),
  fc.constantFrom(
    '__',
    '_',
    'a__b',
    '__proto__',
    'constructor',
    'x'.repeat(200),
    'é',
    'e\u0301',
    '\ud800',
    '\udfff',
  ),
);

describe('a name that agents know', () => {
  test('is the server, two underscores and the tool, where that can be', () => {
    expect(exposedName('github', 'create_issue')).toBe('github__create_issue');
    expect(exposedName('a', '_b')).toBe('a___b');
    expect(exposedName('my_server', 'list_all')).toBe('my_server__list_all');
    expect(exposedName('a', 'x'.repeat(48))).toBe(`a__${'x'.repeat(48)}`);
  });

  // Literal names: a name that an update changes would break prompts and chats that contain it.
  test('has a hash where it is too long or has other characters, the same for ever', () => {
    expect(exposedName('a', 'x'.repeat(49))).toBe(`a__${'x'.repeat(39)}_8e6fcfad`);
    expect(exposedName('files', 'lire.été')).toBe('files__lire_t__e15b442e');
    expect(exposedName('files', 'lire/été')).toBe('files__lire_t__51a297ea');
  });

  test('is no name of an operation of Squad: those have no two underscores', {
    tags: ['name-shadowing-and-collisions'],
  }, () => {
    checkProperty(
      fc.property(server, tool, (id, name) => {
        expect(exposedName(id, name)).toContain('__');
        expect(readExposedName(exposedName(id, name))).not.toBeNull();
      }),
      0.2,
    );
  });
});

test('of 100,000 pairs each name means one pair, is short and plain, and comes out the same again', {
  tags: ['B5', 'R5', 'name-shadowing-and-collisions'],
}, () => {
  // One in ten is drawn more than once.
  const drawn = fc.sample(fc.tuple(server, tool), { numRuns: 130_000, seed: 20_260 });
  const pairs = [...new Map(drawn.map(pair => [JSON.stringify(pair), pair])).values()].slice(0, 100_000);
  const table = new NameTable(pairs);
  const again = new NameTable([...pairs].reverse());
  const clashing = new Set(
    table.clashes.flatMap(({ pairs: same }) => same.map(pair => JSON.stringify(pair))),
  );
  const owner = new Map<string, string>();
  const wrong = pairs.filter(([id, name]) => {
    const key = JSON.stringify([id, name]);
    const exposed = table.nameOf(id, name);
    if (exposed === null) return !clashing.has(key);
    const isOnly = (owner.get(exposed) ?? key) === key;
    owner.set(exposed, key);
    const found = table.find(exposed);
    const isFound = found?.server === id && found.tool === name && again.nameOf(id, name) === exposed;
    return !isOnly || !isFound || clashing.has(key) || !/^[A-Za-z0-9_-]{1,51}$/.test(exposed);
  });
  expect(wrong).toEqual([]);
  expect(owner.size + clashing.size).toBe(100_000);
  expect(clashing.size).toBeLessThan(10);
  figure('R5', {
    reached: pairs.length - wrong.length,
    of: 100_000,
    told: `100,000 pairs, ${owner.size.toLocaleString('en')} names, ${clashing.size} pairs that would share one and have none, seed 20260`,
  });
});

describe('a table of names', () => {
  const long = 'x'.repeat(60);
  // A server can name a tool just as another one of its tools comes out.
  const pretender = exposedName('files', long).slice('files__'.length);

  test('gives a name that two would have to neither, and says so', {
    tags: ['B5', 'name-shadowing-and-collisions'],
  }, () => {
    const table = new NameTable([
      ['files', long],
      ['files', pretender],
      ['files', 'read'],
      ['files', 'read'],
    ]);
    const name = exposedName('files', long);
    expect(table.clashes).toEqual([
      {
        name,
        pairs: [
          ['files', long],
          ['files', pretender],
        ],
      },
    ]);
    expect(table.find(name)).toBeNull();
    expect(table.nameOf('files', long)).toBeNull();
    expect(table.nameOf('files', pretender)).toBeNull();
    expect(table.find('files__read')).toEqual({ server: 'files', tool: 'read' });
  });

  test('knows nothing that it was not given', () => {
    const table = new NameTable([['files', 'read']]);
    for (const name of ['files__write', 'db__read', 'read', 'squad_status', '__proto__', 'constructor', ''])
      expect(table.find(name)).toBeNull();
    expect(table.nameOf('files', 'write')).toBeNull();
  });
});

describe('a URI that agents know', () => {
  test('leads back to the server and its own URI', { tags: ['B5'] }, () => {
    checkProperty(
      fc.property(server, fc.string({ minLength: 1, unit: 'binary' }), (id, uri) => {
        const exposed = exposedUri(id, uri);
        expect(parseExposedUri(exposed)).toEqual({ server: id, uri });
        // Clients may lower-case the scheme, so it must survive that.
        expect(exposed).toMatch(/^[a-z][a-z0-9.-]*\+/);
      }),
      0.2,
    );
  });

  test('is none where there is no server in it', () => {
    for (const uri of [
      'squad://roster',
      'squad+x:y',
      'file:///a+b',
      'Files+x:y',
      '+x',
      'files+',
      '',
      '__proto__+x:y',
    ])
      expect(parseExposedUri(uri)).toBeNull();
  });
});

describe('a name in a list', () => {
  const known = new Set(['create_pull_request', 'github_create_pull_request', 'merge']);

  test.each(['create_pull_request', 'github_create_pull_request', 'github__create_pull_request'])(
    '%s means the tool, with the id of the server before it or without',
    entry => {
      const one = new Set(['create_pull_request']);
      expect(names(new Set([entry]), 'github', 'create_pull_request', one)).toBe(true);
      expect(isMeant(entry, 'github', 'create_pull_request')).toBe(true);
      expect(names(new Set([entry]), 'github', 'merge', one)).toBe(false);
      expect(isMeant(entry, 'github', 'merge')).toBe(false);
      expect(names(new Set([entry]), 'gitlab', 'create_pull_request', one)).toBe(
        entry === 'create_pull_request',
      );
    },
  );

  test('that could be two tools gives the one with that very name, and takes both away', () => {
    const entry = 'github_create_pull_request';
    const given = [...known].filter(tool => names(new Set([entry]), 'github', tool, known));
    expect(given).toEqual(['github_create_pull_request']);
    const taken = [...known].filter(tool => isMeant(entry, 'github', tool));
    expect(taken).toEqual(['create_pull_request', 'github_create_pull_request']);
  });

  test('that is shortened for agents means the tool it is short for', () => {
    const tool = 'x'.repeat(60);
    expect(names(new Set([exposedName('github', tool)]), 'github', tool, null)).toBe(true);
    expect(isMeant(exposedName('github', tool), 'github', tool)).toBe(true);
  });

  test('means any tool or none, a pattern only where it takes away', () => {
    expect(meansAny('*', 'github', new Set(), true)).toBe(true);
    expect(meansAny('github__m*', 'github', known, true)).toBe(true);
    expect(meansAny('m*', 'github', known, false)).toBe(false);
    expect(meansAny('d*', 'db', new Set(['read']), true)).toBe(false);
    expect(meansAny('delete', 'github', known, true)).toBe(false);
  });
});
