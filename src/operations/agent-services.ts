import { type Action, allowed, type RunSubject, type Subject } from '../core/policy.ts';
import { SquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { agentStore, RunVisibility } from './agent-store.ts';
import type { Call, Services } from './operation.ts';

/** The inbox as one run has it: what it asked, what it was asked, and that runs it sees have something open. */
function agentInbox(
  inbox: Services['inbox'],
  { id: self }: RunSubject,
  sees: (runId: RunId) => boolean,
): Services['inbox'] {
  return {
    ask: ask => inbox.ask(ask),
    untilClosed: (id, signal) => inbox.untilClosed(id, signal),
    deliver: item => inbox.deliver(item),
    markResumed: runId => inbox.markResumed(runId),
    askedBy: (runId, given) => inbox.askedBy(runId, given),
    open: () => inbox.open().filter(({ owner }) => owner === self),
    openOf: runId => (sees(runId) ? inbox.openOf(runId) : []),
    openFor: runIds => inbox.openFor(runIds.filter(sees), self),
    notify: id => inbox.notify(id, self),
    isNotified: id => inbox.isNotified(id, self),
    onAsked: listener => inbox.onAsked(item => void (sees(item.runId) && listener(item))),
    find: given => inbox.owned(self, given),
    owned: (_, given) => inbox.owned(self, given),
    list: filter => inbox.list({ ...filter, owner: self }),
    answer: async (id, said, by) => inbox.answer((await inbox.owned(self, id)).id, said, by),
    decline: async (id, by) => inbox.decline((await inbox.owned(self, id)).id, by),
  };
}

export function subjectOf({ services, caller }: Pick<Call, 'services' | 'caller'>): Subject {
  const { parent } = caller;
  if (!parent) return { kind: 'user' };
  return { kind: 'run', ...parent, isLive: services.runner.current(parent.id) !== null };
}

/**
 * The services as one run has them for one action: what is none of its business is not there, so that no operation has to
 * think of it and a run that may not be asked about cannot be told from one that does not exist.
 */
export async function servicesForAgent(
  services: Services,
  subject: RunSubject,
  action: Action,
): Promise<Services> {
  const { runner, store, traces } = services;
  const sight = new RunVisibility(services, object => allowed(subject, action, object));
  await Promise.all(runner.liveRuns().map(run => sight.look(run)));
  return {
    ...services,
    store: agentStore(store, subject, sight),
    inbox: agentInbox(services.inbox, subject, id => sight.ifSeen(runner.current(id)) !== null),
    traces: {
      on: (id, listener) => (sight.ifSeen(runner.current(id)) ? traces.on(id, listener) : () => {}),
      savedOf: id => (sight.ifSeen(runner.current(id)) ? traces.savedOf(id) : 0),
    },
    conversations: NO_CONVERSATIONS,
    runner: {
      submit: squad => runner.submit(squad),
      admit: (count, parent) => runner.admit(count, parent),
      current: id => sight.ifSeen(runner.current(id)),
      usageOf: id => (sight.ifSeen(runner.current(id)) ? runner.usageOf(id) : null),
      isStopping: id => sight.ifSeen(runner.current(id)) !== null && runner.isStopping(id),
      timeLeft: id => (sight.ifSeen(runner.current(id)) ? runner.timeLeft(id) : null),
      silenceOf: id => (sight.ifSeen(runner.current(id)) ? runner.silenceOf(id) : null),
      // Not itself: "everything that runs" is what it started, or `cancel_run {all}` would end who asked.
      liveRuns: () => runner.liveRuns().filter(run => run.id !== subject.id && sight.sees(run)),
      moneyLeft: id => runner.moneyLeft(id),
      // Its own place is free for those it waits for.
      untilEnded: (id, signal) => runner.whileWaiting(subject.id, () => runner.untilEnded(id, signal)),
      untilAnswered: (id, signal) => runner.whileWaiting(subject.id, () => runner.untilAnswered(id, signal)),
      whileWaiting: (id, wait) => runner.whileWaiting(id, wait),
      stop: async (id, reason, by) =>
        sight.ifSeen(runner.current(id)) !== null && runner.stop(id, reason, by),
      note: (id, text) => {
        if (sight.ifSeen(runner.current(id))) runner.note(id, text);
      },
      pump: () => runner.pump(),
    },
  };
}

/** What agents said to their models is the user's to read. */
const NO_CONVERSATIONS: Services['conversations'] = {
  messages: async () => [],
  message: async () => null,
  countMessages: async () => 0,
  conversations: async () => [],
  talkers: async () => [],
};

/** The run that asks, for tools that agents alone have. Nobody names a run: each speaks for itself. */
export function ownRun({ services, caller }: Pick<Call, 'services' | 'caller'>): Run {
  const run = caller.parent && services.runner.current(caller.parent.id);
  if (run) return run;
  throw new SquadError('NOT_ALLOWED', 'This is for an agent at work, about its own run');
}
