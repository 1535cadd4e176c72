import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { namesIn, substitute } from '../../src/core/gateway/variables.ts';
import { realGateway } from '../support/real-gateway.ts';
import { Recorded, toolNamed } from './recorded.ts';

const folder = mkdtempSync(join(tmpdir(), 'squad-template-'));
afterAll(() => rmSync(folder, { recursive: true }));

const variable = (name: string) => `\${${name}}`;

/** Values that a template language or a careless `replace` would expand. */
const VALUES: Record<string, string> = {
  NESTED: variable('PLAIN'),
  TWICE: variable('NESTED'),
  ITSELF: variable('ITSELF'),
  ROOT: variable('SQUAD_ROOT'),
  DEFAULT: `\${PLAIN:-other}`,
  HALF: `\${PLA`,
  OTHER_HALF: 'IN}',
  MUSTACHE: '{{constructor}} {{__proto__}} {{#with "s"}}{{/with}}',
  LODASH: '<%= process.env %> <%- global %>',
  JINJA: '{% for x in ().__class__.__base__ %}{{ 7*7 }}{% endfor %}',
  SHELL: '$PLAIN $(id) `id` %PLAIN% !PLAIN!',
  REPLACE: `$& $1 $2 $$ $\` $' $<name>`,
  PROTO: '__proto__',
  CONSTRUCTOR: 'constructor.prototype.polluted',
  FORMAT: '%s %n %x {0} {0.__class__}',
  LONG: 'x'.repeat(100_000),
};
const NAMES = Object.keys(VALUES);

test('a value is put in as it is, in arguments and variables, and read by nobody again', {
  tags: ['template-injection'],
}, async () => {
  const kept = new Recorded(folder, 'kept', { tools: [toolNamed('say')] });
  const config = {
    servers: {
      kept: kept.block({
        args: [...NAMES.map(variable), `${variable('HALF')}${variable('OTHER_HALF')}`],
        env: Object.fromEntries(NAMES.map(name => [`GOT_${name}`, `<${variable(name)}>`])),
      }),
    },
    shared: ['kept'],
  };
  await using fixture = realGateway(config, { ...VALUES, PLAIN: 'the plain value' });
  expect((await fixture.view(fixture.run()).tools()).map(({ name }) => name)).toEqual(['kept__say']);
  const [start] = kept.starts();
  expect(start!.args).toEqual([...Object.values(VALUES), variable('PLAIN')]);
  for (const name of NAMES) expect(start!.env[`GOT_${name}`]).toBe(`<${VALUES[name]}>`);
  expect(JSON.stringify(start)).not.toContain('the plain value');
});

test('names that every object has are variables like any other: not set', {
  tags: ['template-injection'],
}, async () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__'];
  const servers = Object.fromEntries(
    names.map((name, at) => [`s${at}`, { command: 'true', args: [variable(name)], tools: ['*'] }]),
  );
  await using fixture = realGateway({ servers, shared: Object.keys(servers) });
  const run = fixture.run();
  fixture.gateway.prepare(run);
  expect(await fixture.view(run).tools()).toEqual([]);
  const statuses = await fixture.gateway.status(null);
  const said = JSON.stringify([statuses, fixture.warnings, fixture.view(run).notice()]);
  for (const name of names) expect(said).toContain(name);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test('a value of a megabyte is put in whole', { tags: ['template-injection'] }, () => {
  const value = `${variable('A')}$&`.repeat(150_000);
  expect(substitute(`[${variable('A')}]`, () => value)).toBe(`[${value}]`);
});

test('a text without variables stays as it is, however often it is rendered', {
  tags: ['template-injection'],
}, () => {
  const find = (name: string) => `value of ${name.toLowerCase()}`;
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('$', '{', '}', ...'A_1:- \\&%<\u0000é') }), text => {
      const once = substitute(text, find);
      expect(substitute(once, find)).toBe(once);
      if (namesIn(text).length === 0) expect(once).toBe(text);
    }),
    { numRuns: 5_000 },
  );
});
