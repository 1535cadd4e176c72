import { describe, expect, test } from 'vitest';
import type { Event } from '../../src/schema/event.ts';
import { checkRound } from './check-round.ts';
import type { RoundFacts, RunFacts } from './facts.ts';
import { soundFacts } from './sound-facts.ts';

test('a round in which all went well has no problem', () => {
  expect(checkRound(soundFacts())).toEqual([]);
});

/** The first run of this kind. */
function one(facts: RoundFacts, kind: string, engine: string, isStateful = false): RunFacts {
  const found = facts.squads
    .flatMap(({ runs }) => runs)
    .find(
      ({ member }) => member.kind === kind && member.engine === engine && member.isStateful === isStateful,
    );
  if (!found) throw new Error(`No ${engine} ${kind}`);
  return found;
}

/** An end that the row and the event agree on, so that only its truth is in question. */
function say(run: RunFacts, status: RunFacts['run']['status'], exitCode: number | null): void {
  run.run.status = status;
  run.result.status = status;
  run.turns[0]!.exitCode = exitCode;
  const ended = run.events.at(-1)!.body as Extract<Event['body'], { type: 'run.ended' }>;
  Object.assign(ended, { status, exitCode });
}

const type =
  (wanted: string) =>
  ({ body }: Event) =>
    body.type === wanted;

describe('a round is red when', () => {
  test.each<[string, RegExp, (facts: RoundFacts) => void]>([
    [
      'a run is lost',
      /end is not true: status lost/,
      facts => say(one(facts, 'slow', 'template'), 'lost', null),
    ],
    [
      'a run never ends',
      /end is not true: status running/,
      facts => say(one(facts, 'slow', 'template'), 'running', null),
    ],
    [
      'a failure is reported as success',
      /end is not true: status completed, exit code 3/,
      facts => say(one(facts, 'exit 3', 'template'), 'completed', 3),
    ],
    [
      'an exit code is not the agent’s',
      /end is not true: status error, exit code 1/,
      facts => say(one(facts, 'exit 3', 'template'), 'error', 1),
    ],
    [
      'one is completed that never said so',
      /end is not true.*did not end by itself/,
      facts => void one(facts, 'quick', 'template').side.pop(),
    ],
    [
      'one is cancelled that nobody cancelled',
      /end is not true: status cancelled/,
      facts => say(one(facts, 'slow', 'template'), 'cancelled', 143),
    ],
    [
      'one timed out that has no limit',
      /end is not true: status timeout/,
      facts => say(one(facts, 'slow', 'template'), 'timeout', 143),
    ],
    [
      'one timed out before its limit',
      /end is not true: status timeout/,
      facts => {
        one(facts, 'timeout', 'template').turns[0]!.deadlineAt += 60_000;
      },
    ],
    [
      'one timed out that had ended before anybody stopped it',
      /end is not true: status timeout, exit code 0/,
      facts => {
        const run = one(facts, 'timeout', 'template');
        say(run, 'timeout', 0);
        run.side.push('end');
        run.events.find(type('run.stopping'))!.at += 500;
      },
    ],
    [
      'a cancel on disk is forgotten',
      /a cancel was on disk before its end, and was forgotten/,
      facts => {
        const run = one(facts, 'cancelled', 'template');
        run.side.push('end');
        run.cancelAnswer = null;
        say(run, 'completed', 0);
      },
    ],
    [
      'a caller got another answer',
      /a caller got the answer that it is cancelled/,
      facts => {
        one(facts, 'slow', 'template').cancelAnswer = 'cancelled';
      },
    ],
    [
      'a run’s agent ran twice',
      /it ran 2 times/,
      facts => {
        const { side } = one(facts, 'quick', 'template');
        side.push(side[0]!);
      },
    ],
    [
      'a chat was opened twice',
      /its chat was opened 2 times/,
      facts => void one(facts, 'quick', 'template', true).chatSide.push('made again'),
    ],
    [
      'a chat was used twice',
      /its chat has 2 prompts/,
      facts => void one(facts, 'slow', 'scripted', true).chatPrompts!.push('again'),
    ],
    [
      'a chat’s id is lost',
      /the run says null/,
      facts => {
        one(facts, 'quick', 'template', true).run.chatId = null;
      },
    ],
    [
      'a chat’s own memory is lost',
      /does not know its prompt/,
      facts => {
        one(facts, 'slow', 'scripted', true).chatPrompts = null;
      },
    ],
    [
      'an end is logged twice',
      /2 run\.ended events/,
      facts => {
        const { events } = one(facts, 'quick', 'template');
        events.push(events.at(-1)!);
      },
    ],
    [
      'an end is not logged',
      /0 run\.ended events/,
      facts => void one(facts, 'quick', 'template').events.pop(),
    ],
    [
      'a queued event is missing',
      /0 run\.queued events/,
      facts => void one(facts, 'quick', 'template').events.shift(),
    ],
    [
      'a start is logged twice',
      /2 run\.started events/,
      facts => {
        const { events } = one(facts, 'quick', 'template');
        events.splice(1, 0, events[1]!);
      },
    ],
    [
      'something is logged after the end',
      /after its end came run\.started/,
      facts => {
        const { events } = one(facts, 'quick', 'template');
        events.push(events.splice(1, 1)[0]!);
      },
    ],
    [
      'row and log differ',
      /its last event says completed/,
      facts => {
        one(facts, 'quick', 'template').run.status = 'error';
      },
    ],
    [
      'a leftover is not reported',
      /left behind is not reported/,
      facts => {
        const run = one(facts, 'own session', 'template');
        run.member.sandbox = 'off';
        const ended = run.events.at(-1)!.body;
        if (ended.type === 'run.ended') ended.leftovers = [];
      },
    ],
    [
      'a run is not in the sandbox that was asked for',
      /its sandbox is off instead of strict/,
      facts => {
        const { member, run } = one(facts, 'quick', 'template');
        member.sandbox = 'strict';
        run.options.sandbox.level = 'off';
      },
    ],
    [
      'a run ended before it started',
      /its times make no sense/,
      facts => {
        one(facts, 'quick', 'template').run.startedAt! += 5000;
      },
    ],
    [
      'a line of output is missing',
      /its stdout is not what it wrote/,
      facts => {
        const run = one(facts, 'slow', 'template');
        run.stdout = run.stdout.subarray(run.stdout.indexOf('\n') + 1);
      },
    ],
    [
      'a line of output is there twice',
      /its stdout is not what it wrote/,
      facts => {
        const run = one(facts, 'quick', 'template');
        run.stdout = Buffer.concat([run.stdout, run.stdout]);
      },
    ],
    [
      'a byte of a flood is missing',
      /its stdout is not what it wrote/,
      facts => {
        const run = one(facts, 'flood', 'template');
        run.stdout = run.stdout.subarray(0, -1);
      },
    ],
    [
      'errors are missing',
      /its stderr is not what it wrote/,
      facts => {
        one(facts, 'quick', 'template').stderr = Buffer.alloc(0);
      },
    ],
    [
      'a stopped agent’s last line is missing',
      /its stdout lacks \d+ bytes/,
      facts => {
        const run = one(facts, 'cancelled', 'template');
        run.stdout = run.stdout.subarray(0, -30);
      },
    ],
    [
      'a stopped agent’s output is not its own',
      /holds what it never wrote/,
      facts => {
        one(facts, 'cancelled', 'template').stdout[3] = 88;
      },
    ],
    [
      'an event line is missing',
      /it said .* instead of/,
      facts => {
        const run = one(facts, 'quick', 'scripted');
        run.stdout = Buffer.from(run.stdout.toString().replace(/.*"text".*\n/, ''));
      },
    ],
    [
      'a line of an agent’s own flood is missing',
      /its flood has \d+ lines instead of \d+/,
      facts => {
        const run = one(facts, 'flood', 'scripted', true);
        run.stdout = Buffer.from(run.stdout.toString().replace(/.*"flood flood".*\n/, ''));
      },
    ],
    [
      'an answer is lost',
      /its answer is ""/,
      facts => {
        one(facts, 'quick', 'scripted').result.result = '';
      },
    ],
    [
      'a result differs from its run',
      /its result says running/,
      facts => {
        one(facts, 'slow', 'template').result.status = 'running';
      },
    ],
    [
      'secrets stay on disk',
      /its environment is still on disk/,
      facts => {
        one(facts, 'slow', 'template').hasEnvironment = true;
      },
    ],
    [
      'a squad is gone',
      /its squad is gone/,
      facts => {
        one(facts, 'slow', 'template').squad = null;
      },
    ],
    [
      'a member of a squad is gone',
      /only these members are known/,
      facts => void facts.squads[0]!.runs.pop(),
    ],
    [
      'a promised squad is gone',
      /promised run_/,
      facts => {
        facts.squads[0]!.runs = [];
      },
    ],
    [
      'members are out of place',
      /out of place/,
      facts => {
        facts.squads[0]!.runs[0]!.run.position = 5;
      },
    ],
    [
      'metadata is lost',
      /metadata is lost/,
      facts => {
        facts.squads[0]!.runs[0]!.squad!.metadata = null;
      },
    ],
    [
      'a squad is logged twice',
      /2 squad\.created events/,
      facts => void facts.events.push({ ...facts.events[0]!, seq: 9999 }),
    ],
    [
      'event numbers do not rise',
      /event \d+ comes after/,
      facts => {
        facts.events[5]!.seq = facts.events[4]!.seq;
      },
    ],
    [
      'an event that was shown is gone',
      /was shown, and is not in the log/,
      facts => void facts.events.splice(4, 1),
    ],
    [
      'an event that was shown has changed',
      /was shown, and is not in the log as it was/,
      facts => {
        facts.events[4]!.at += 1;
      },
    ],
    [
      'more agents run than the limit allows',
      /20 agents ran at once; the limit is 12/,
      facts => {
        facts.concurrency = 12;
      },
    ],
    [
      'an agent of no known run was running',
      /r0m07 ran, but no run is known/,
      facts => {
        facts.strangers = ['r0m07'];
      },
    ],
    [
      'a process is left',
      /a process was left: 12 sleep/,
      facts => {
        facts.processes = ['12 sleep 600'];
      },
    ],
    [
      'there are two hubs',
      /2 hubs are running/,
      facts => {
        facts.hubs = 2;
      },
    ],
  ])('%s', (_, expected, spoil) => {
    const facts = soundFacts();
    spoil(facts);
    expect(checkRound(facts)).toContainEqual(expect.stringMatching(expected));
  });
});
