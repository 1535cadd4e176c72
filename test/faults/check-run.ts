import type { Event } from '../../src/schema/event.ts';
import { checkOutput } from './check-output.ts';
import type { RunFacts } from './facts.ts';

/**
 * A file's time is the kernel's last tick, so an exit can seem a little earlier than it was. On a busy machine an agent that is being
 * killed in its sandbox may still write its first line after that.
 */
const TICK_MS = 100;
const SIGNALLED = [137, 143];

type Ended = Extract<Event['body'], { type: 'run.ended' }>;

/** Problems of one run: facts that are false or missing. Empty when there are none. */
export function checkRun(facts: RunFacts): string[] {
  return [
    ...checkEnd(facts),
    ...checkOnce(facts),
    ...checkEvents(facts),
    ...checkTimes(facts),
    ...checkChat(facts),
    ...checkOutput(facts),
    ...(facts.hasEnvironment ? ['its environment is still on disk'] : []),
    ...(facts.squad === null ? ['its squad is gone'] : []),
    ...checkSandbox(facts),
    ...checkWork(facts),
  ];
}

function checkSandbox({ member, run }: RunFacts): string[] {
  const { level } = run.options.sandbox;
  return level === member.sandbox ? [] : [`its sandbox is ${level} instead of ${member.sandbox}`];
}

/** Commits and files of an agent that completed are here, each once. Of one that ended otherwise nothing is promised. */
function checkWork({ member, run, work }: RunFacts): string[] {
  if (work === null || run.status !== 'completed') return [];
  const committed = member.stdout.map((_, i) => `${i + 1}\n`).join('');
  return [
    ...(work.committed === committed ? [] : [`its branch has ${JSON.stringify(work.committed)}`]),
    ...(work.file === `${committed}loose\n` ? [] : [`its work tree has ${JSON.stringify(work.file)}`]),
  ];
}

export const hasStarted = ({ side }: RunFacts): boolean => side.some(line => /^start\b/.test(line));
export const hasEnded = ({ side }: RunFacts): boolean => side.includes('end');

function checkEnd(facts: RunFacts): string[] {
  const { member, run, turns, cancelAnswer } = facts;
  const exitCode = turns.at(-1)?.exitCode ?? null;
  const seen = `status ${run.status}, exit code ${exitCode}, ${hasStarted(facts) ? 'started' : 'not started'}, ${hasEnded(facts) ? 'ended by itself' : 'did not end by itself'}${run.error ? `, ${run.error.code}: ${run.error.message}` : ''}`;
  const reason = reasonOf(facts);
  const bySelf = hasEnded(facts) && exitCode === member.exitCode;
  const bySignal = exitCode !== null && SIGNALLED.includes(exitCode);
  // Its time was over before the box could be asked to start it.
  const hadNoStart = run.options.machine !== null && !hasStarted(facts) && exitCode === null;
  const isTrue = {
    completed: () => bySelf && exitCode === 0 && run.error === null,
    error: () => bySelf && exitCode !== 0 && run.error?.code === 'ENGINE_FAILED',
    cancelled: () =>
      member.isCancelled && (!hasStarted(facts) || (reason === 'cancel' && (bySignal || bySelf))),
    timeout: () =>
      member.timeoutMs !== null &&
      reason === 'timeout' &&
      (bySignal || bySelf || hadNoStart) &&
      isPastLimit(facts),
  }[run.status as string];
  const problems = isTrue?.() ? [] : [`its end is not true: ${seen}`];
  if (wasCancelledInTime(facts) && run.status !== 'cancelled')
    problems.push(`a cancel was on disk before its end, and was forgotten: ${seen}`);
  if (cancelAnswer === 'cancelled' && run.status !== 'cancelled')
    problems.push(`a caller got the answer that it is cancelled: ${seen}`);
  return problems;
}

interface StopRequest {
  reason: string;
  /** How long before the agent's end it was written down. */
  msBefore: number;
}

function stopRequestIn({ events, turns }: RunFacts): StopRequest | null {
  const stopping = events.find(({ body }) => body.type === 'run.stopping');
  if (stopping?.body.type !== 'run.stopping') return null;
  const endedAt = turns.at(-1)?.endedAt ?? Number.POSITIVE_INFINITY;
  return { reason: stopping.body.reason, msBefore: endedAt - stopping.at };
}

/** Why Squad stopped the run. A request after the agent's own end does not count; close to that end, both outcomes are valid. */
function reasonOf(facts: RunFacts): string | null {
  const request = stopRequestIn(facts);
  return request && request.msBefore >= -TICK_MS ? request.reason : null;
}

function wasCancelledInTime(facts: RunFacts): boolean {
  const request = stopRequestIn(facts);
  return request?.reason === 'cancel' && request.msBefore >= 0;
}

function isPastLimit({ turns }: RunFacts): boolean {
  const turn = turns.at(-1);
  return turn?.endedAt != null && turn.endedAt + TICK_MS >= turn.deadlineAt;
}

function checkOnce({ side, turns, chatSide, chatPrompts, run }: RunFacts): string[] {
  const starts = side.filter(line => /^start\b/.test(line));
  const problems: string[] = [];
  if (starts.length > 1) problems.push(`it ran ${starts.length} times: ${starts.join('; ')}`);
  if (side.filter(line => line === 'end').length > 1) problems.push('it ended by itself more than once');
  if (turns.length > 1) problems.push(`it has ${turns.length} turns`);
  if (chatSide.length > 1) problems.push(`its chat was opened ${chatSide.length} times`);
  if (chatPrompts && chatPrompts.length !== 1) problems.push(`its chat has ${chatPrompts.length} prompts`);
  const runIds = starts.flatMap(line => line.split(' ')[2] ?? []);
  if (runIds.some(id => id !== run.id)) problems.push(`its agent got another id: ${runIds.join()}`);
  return problems;
}

function checkEvents(facts: RunFacts): string[] {
  const { run, events, turns } = facts;
  const of = (type: string) => events.filter(({ body }) => body.type === type);
  const problems: string[] = [];
  const expect = (type: string, count: number) => {
    const found = of(type).length;
    if (found !== count) problems.push(`${found} ${type} events instead of ${count}`);
  };
  expect('run.queued', 1);
  expect('run.ended', 1);
  expect('run.started', turns.length);
  if (hasStarted(facts) && turns.length === 0) problems.push('its agent ran, but no turn is on record');
  if (of('run.stopping').length > 1) problems.push('more than one run.stopping event');
  const ended = of('run.ended')[0]?.body as Ended | undefined;
  if (ended && (ended.status !== run.status || ended.exitCode !== (turns.at(-1)?.exitCode ?? null)))
    problems.push(
      `its last event says ${ended.status}, exit code ${ended.exitCode}; its row says ${run.status}`,
    );
  if (events.at(-1)?.body.type !== 'run.ended')
    problems.push(`after its end came ${events.at(-1)?.body.type}`);
  // A process that dies together with a stopped agent, or with its sandbox, is not a leftover.
  const dies = reasonOf(facts) !== null || facts.member.sandbox !== 'off';
  const leaves = facts.member.leavesChild && hasEnded(facts) && !dies;
  if (leaves && !facts.wasOverlooked && ended?.leftovers.length === 0)
    problems.push('the process it left behind is not reported');
  return problems;
}

function checkTimes(facts: RunFacts): string[] {
  const { createdAt, startedAt, endedAt } = facts.run;
  const turn = facts.turns.at(-1);
  const moments = [createdAt, startedAt, turn?.startedAt, agentStart(facts), turn?.endedAt, endedAt].filter(
    moment => moment !== null && moment !== undefined,
  );
  const inOrder = moments.every((moment, i) => i === 0 || moments[i - 1]! <= moment + TICK_MS);
  return inOrder && endedAt !== null ? [] : [`its times make no sense: ${moments.join(', ')}`];
}

/** By the agent's own clock. */
function agentStart({ member, side, stdout }: RunFacts): number | null {
  if (member.engine === 'template') return Number(side[0]?.split(' ')[1]) || null;
  return Number(/^{"at":(\d+)/.exec(stdout.toString('latin1', 0, 40))?.[1]) || null;
}

function checkChat(facts: RunFacts): string[] {
  const { member, run, side, chatPrompts } = facts;
  // The scripted engine takes an id of ours and always gets one.
  const hasChat = member.isStateful || member.engine === 'scripted';
  if (!hasChat) return run.chatId === null ? [] : ['it has a chat that nobody asked for'];
  if (!hasStarted(facts)) return [];
  if (member.engine === 'scripted')
    return chatPrompts?.[0]?.includes(member.tag) ? [] : [`its chat ${run.chatId} does not know its prompt`];
  const told = side.find(line => line.startsWith('start '))?.split(' ')[3];
  return told === `chat-${member.tag}` && run.chatId === told
    ? []
    : [`its chat is chat-${member.tag}, its agent got ${told}, the run says ${run.chatId}`];
}
