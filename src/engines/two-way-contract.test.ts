import { describe, expect, test } from 'vitest';
import type { Driver, DriverEvent, Engine } from '../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../core/testing/plain-options.ts';
import { createAcpEngine } from './acp/acp-engine.ts';
import { createCliEngine } from './cli-profile.ts';
import { cliProfiles } from './cli-profiles.ts';
import { rehearsal } from './testing/contract.ts';

const ENGINES: Engine[] = [
  ...cliProfiles().map(profile =>
    createCliEngine(profile, { program: `/opt/bin/${profile.id}`, version: null }),
  ),
  createAcpEngine({ kind: 'acp', id: 'acp', command: ['/bin/cat'] }),
].filter(({ driver }) => driver !== undefined);

const PROMPT = 'Line one\nline "two" \u2028 {"type":"result"}';
const MESSAGE = '0b3e6c2e-0000-4000-8000-000000000001';
const NO = { isGiven: false, why: 'Use the\nother one.' } as const;
const json = JSON.stringify;

/** The lines of a CLI, in its protocol. */
interface Dialect {
  id: string | number;
  /** Lines with which it takes its prompt. */
  begins: ((sent: string[]) => string)[];
  asks(id: string | number, command: string): string;
  wants(id: string | number): string;
  /** Lines with which it ends its turn, while a request is open. */
  ends: ((id: string | number) => string)[];
}

const uuidOf = (sent: string[]) => JSON.parse(sent.at(-1)!).uuid;
const streamJson: Dialect = {
  id: 'r',
  begins: [
    () => json({ type: 'system', subtype: 'init', session_id: 's' }),
    sent => json({ type: 'user', uuid: uuidOf(sent), isReplay: true }),
  ],
  asks: (id, command) =>
    json({
      ...{ type: 'control_request', request_id: id },
      request: { subtype: 'can_use_tool', tool_name: 'Bash', input: { command } },
    }),
  wants: id => json({ type: 'control_request', request_id: id, request: { subtype: 'unheard_of' } }),
  ends: [
    id => json({ type: 'control_cancel_request', request_id: id }),
    () => json({ type: 'result', is_error: false, result: 'Done.' }),
  ],
};
const notice = (method: string, params: object) => json({ method, params: { threadId: 't', ...params } });
const codex: Dialect = {
  id: 0,
  begins: [
    () => json({ id: 'init', result: {} }),
    () => json({ id: 'thread', result: { thread: { id: 't' } } }),
    () => json({ id: 'prompt', result: { turn: { id: 'a' } } }),
    () => notice('turn/started', { turn: { id: 'a' } }),
    () => notice('item/started', { item: { type: 'userMessage', clientId: 'prompt' } }),
  ],
  asks: (id, command) =>
    json({ method: 'item/commandExecution/requestApproval', id, params: { threadId: 't', command } }),
  wants: id => json({ method: 'unheard/of', id, params: {} }),
  ends: [
    id => notice('serverRequest/resolved', { requestId: id }),
    () => notice('turn/completed', { turn: { id: 'a', status: 'completed' } }),
  ],
};
const options = [
  { optionId: 'always', kind: 'allow_always' },
  { optionId: 'once', kind: 'allow_once' },
  { optionId: 'no', kind: 'reject_once' },
];
const acp: Dialect = {
  id: 0,
  begins: [
    () => json({ jsonrpc: '2.0', id: 'init', result: { protocolVersion: 1 } }),
    () => json({ jsonrpc: '2.0', id: 'session', result: { sessionId: 's' } }),
  ],
  asks: (id, command) =>
    json({
      ...{ jsonrpc: '2.0', id, method: 'session/request_permission' },
      params: { options, toolCall: { title: command, kind: 'execute' } },
    }),
  wants: id => json({ jsonrpc: '2.0', id, method: 'fs/read_text_file', params: {} }),
  ends: [() => json({ jsonrpc: '2.0', id: 'prompt', result: { stopReason: 'end_turn' } })],
};
const DIALECTS: Record<string, Dialect> = { claude: streamJson, qwen: streamJson, codex };

/** Both sides of a turn, from its first line on. */
class Talk {
  readonly dialect: Dialect;
  readonly sent: string[] = [];
  readonly read: string[] = [];
  readonly driver: Driver;
  private readonly start: () => Driver;

  constructor({ id, driver }: Engine) {
    this.dialect = DIALECTS[id] ?? acp;
    const { input } = rehearsal({
      prompt: PROMPT,
      options: { ...PLAIN_OPTIONS, permission: 'read', approvals: 'ask' },
    });
    this.start = () => driver!(input);
    this.driver = this.start();
    this.send(this.driver.open());
  }

  static working(engine: Engine): Talk {
    const talk = new Talk(engine);
    for (const line of talk.dialect.begins) talk.hear(line(talk.sent));
    return talk;
  }

  send(lines: string[] | null): string[] {
    for (const line of lines ?? []) this.driver.sent(line);
    this.sent.push(...(lines ?? []));
    return lines ?? [];
  }

  hear(line: string): DriverEvent[] {
    this.read.push(line);
    const events = this.driver.read(line);
    for (const event of events) if (event.type === 'send') this.send(event.lines);
    return events;
  }

  ask(id = this.dialect.id, command = 'date') {
    const [event] = this.hear(this.dialect.asks(id, command));
    if (event?.type !== 'asked') throw new Error(`it did not ask: ${json(event)}`);
    return event.ask;
  }

  /** State for the next hub, which has the lines of both sides and nothing else. */
  replayed() {
    const driver = this.start();
    for (const line of this.sent) driver.sent(line);
    const events = this.read.flatMap(line => driver.read(line));
    return { events, state: stateOf(driver) };
  }

  get state() {
    return stateOf(this.driver);
  }
}

const stateOf = ({ isReady, hasBegun, isIdle, waiting }: Driver) => ({
  ...{ isReady, hasBegun, isIdle, waiting: [...waiting] },
});

describe.each(ENGINES.map(engine => [engine.id, engine] as const))(
  'two-way turn of %s',
  { tags: ['G1'] },
  (_, engine) => {
    test('its program is started without a prompt, and its lines are whole, with the prompt in one of them', async () => {
      const { input } = rehearsal({
        prompt: PROMPT,
        options: { ...PLAIN_OPTIONS, permission: 'read', approvals: 'ask' },
      });
      const { argv, stdin, isFed } = await engine.command(input);
      expect({ stdin, isFed }).toEqual({ stdin: null, isFed: true });
      expect(argv.join()).not.toContain('Line one');
      const { sent, driver } = Talk.working(engine);
      for (const line of sent) {
        expect(line).not.toMatch(/[\r\n]/);
        expect(JSON.parse(line)).toBeTypeOf('object');
      }
      expect(sent.filter(line => line.includes('Line one'))).toHaveLength(1);
      expect(driver).toMatchObject({ isReady: true, hasBegun: true, isIdle: false });
    });

    test('a request is one question, and its answer is sent with its id', () => {
      for (const answer of [{ isGiven: true } as const, NO]) {
        const talk = Talk.working(engine);
        const ask = talk.ask();
        expect(json(ask.input)).toContain('date');
        expect(talk.hear(talk.read.at(-1)!)).toEqual([]);
        const lines = talk.send(talk.driver.answer(ask, answer));
        const about = lines
          .map(line => JSON.parse(line))
          .filter(({ method, type }) => !method && type !== 'user');
        expect(about.map(({ id, response }) => id ?? response.request_id)).toEqual([talk.dialect.id]);
        expect(json(lines).includes('Use the')).toBe(!answer.isGiven);
        expect(talk.hear(talk.read.at(-1)!)).toEqual([]);
      }
    });

    test('a request whose content changes under its id is refused, and can no longer be allowed', () => {
      const talk = Talk.working(engine);
      const ask = talk.ask();
      const events = talk.hear(talk.dialect.asks(talk.dialect.id, 'rm -r .'));
      expect(events.map(({ type }) => type)).toEqual(['withdrawn', 'send']);
      expect(events[0]).toMatchObject({ id: ask.id });
      expect(talk.sent.at(-1)).toMatch(/deny|decline|"optionId":"no"/);
      expect(talk.hear(talk.dialect.asks(talk.dialect.id, 'rm -r .'))).toEqual([]);
    });

    test('a request that Squad does not know is answered with an error, once', () => {
      const talk = Talk.working(engine);
      expect(talk.hear(talk.dialect.wants(talk.dialect.id))).toMatchObject([{ type: 'send' }]);
      expect(talk.sent.at(-1)).toMatch(/does not know this request/);
      expect(talk.hear(talk.dialect.wants(talk.dialect.id))).toEqual([]);
    });

    test('a request that is too long to read is refused, once', () => {
      const talk = Talk.working(engine);
      const beginning = talk.dialect.asks(talk.dialect.id, 'x'.repeat(2_000)).slice(0, 1_000);
      const refused = talk.driver.tooLong(beginning);
      expect(refused).toMatchObject([
        { type: 'send', lines: [expect.stringMatching(/deny|decline|cancelled/)] },
      ]);
      for (const event of refused) if (event.type === 'send') talk.send(event.lines);
      expect(talk.driver.tooLong(beginning)).toEqual([]);
    });

    test('lines of any shape send nothing and ask nothing', () => {
      const talk = Talk.working(engine);
      const lines = [
        '',
        ' ',
        'null',
        '[]',
        '7',
        '"x"',
        '{',
        '{}',
        '{"id":null}',
        '{"method":7,"id":{}}',
        '\u0000',
      ];
      const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
      for (const line of [...lines, deep]) {
        for (const event of talk.driver.read(line)) expect(event.type).toBe('send');
        talk.driver.sent(line);
      }
      expect(talk.driver.isIdle).toBe(false);
      talk.ask();
      for (const line of [...lines, deep]) expect(talk.driver.tooLong(line)).toEqual([]);
    });

    test('a message is a line, or has to wait; an interrupt makes room for it', () => {
      const talk = Talk.working(engine);
      const said = talk.driver.say(MESSAGE, 'And\nthis.');
      if (said === null) {
        const interrupt = talk.send(talk.driver.interrupt('i'));
        expect(interrupt).not.toEqual([]);
        talk.send(talk.driver.say(MESSAGE, 'And\nthis.'));
      } else talk.send(said);
      expect(talk.sent.filter(line => line.includes('And\\nthis.'))).toHaveLength(1);
      expect([...talk.driver.waiting]).toContain(MESSAGE);
      expect(talk.driver.isIdle).toBe(false);
    });

    test('a turn that ends with a request open is over, and nobody is asked any more', () => {
      const talk = Talk.working(engine);
      const ask = talk.ask();
      const events = talk.dialect.ends.flatMap(line => talk.hear(line(talk.dialect.id)));
      expect(events).toContainEqual({ type: 'withdrawn', id: ask.id });
      expect(talk.driver.isIdle).toBe(true);
    });

    test('the next hub has the same state after each line, sends nothing again and asks only what is open', () => {
      const talk = new Talk(engine);
      const check = (open: number) => {
        const { events, state } = talk.replayed();
        expect(state).toEqual(talk.state);
        const asked = new Set(events.flatMap(event => (event.type === 'asked' ? [event.ask.id] : [])));
        for (const event of events) if (event.type === 'withdrawn') asked.delete(event.id);
        expect(asked.size).toBe(open);
        expect(events.filter(({ type }) => type === 'send')).toEqual([]);
      };
      check(0);
      for (const line of talk.dialect.begins) {
        talk.hear(line(talk.sent));
        check(0);
      }
      const ask = talk.ask();
      check(1);
      talk.send(talk.driver.answer(ask, { isGiven: true }));
      check(0);
      talk.hear(talk.dialect.wants(typeof talk.dialect.id === 'number' ? 1 : 's'));
      check(0);
      talk.ask(typeof talk.dialect.id === 'number' ? 2 : 't', 'ls');
      check(1);
      for (const line of talk.dialect.ends) talk.hear(line(typeof talk.dialect.id === 'number' ? 2 : 't'));
      check(0);
      expect(talk.driver.isIdle).toBe(true);
    });
  },
);
