import { type Action, allowed, type RunSubject, type Subject } from '../core/policy.ts';
import { inboxWithin } from './inbox-within.ts';
import type { Call, Services } from './operation.ts';
import { Sight } from './sight.ts';
import { storeWithin } from './store-within.ts';

export function subjectOf({ services, caller }: Pick<Call, 'services' | 'caller'>): Subject {
  const { parent } = caller;
  if (!parent) return { kind: 'user' };
  return { kind: 'run', ...parent, isLive: services.runner.current(parent.id) !== null };
}

/**
 * The services as one run has them for one action: what is none of its business is not there, so that no operation has to
 * think of it and a run that may not be asked about cannot be told from one that does not exist.
 */
export async function within(services: Services, subject: RunSubject, action: Action): Promise<Services> {
  const { runner, store, traces } = services;
  const sight = new Sight(services, object => allowed(subject, action, object));
  await Promise.all(runner.liveRuns().map(run => sight.look(run)));
  return {
    ...services,
    store: storeWithin(store, subject, sight),
    inbox: inboxWithin(services.inbox, subject, id => sight.ifSeen(runner.current(id)) !== null),
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
