import { type Action, allowed, type RunSubject, type Subject } from '../core/policy.ts';
import { SquadError } from '../schema/error.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { agentStore, RunVisibility } from './agent-store.ts';
import type { Call, Services } from './operation.ts';

/** The inbox as one run sees it: its own questions, questions to it, and open questions of runs that it may see. */
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
    openElsewhere: async () => [],
    openFor: runIds => inbox.openFor(runIds.filter(sees), self),
    notify: id => inbox.notify(id, self),
    isNotified: id => inbox.isNotified(id, self),
    onAsked: listener => inbox.onAsked(item => void (sees(item.runId) && listener(item))),
    find: given => inbox.owned(self, given),
    owned: (_, given) => inbox.owned(self, given),
    list: filter => inbox.list({ ...filter, hubs: 'own', owner: self }),
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
 * The services as one run sees them for one action. Runs that it may not see do not exist in them, so no operation has to
 * check, and a hidden run looks the same as one that does not exist.
 */
export async function servicesForAgent(
  services: Services,
  subject: RunSubject,
  action: Action,
): Promise<Services> {
  const { runner, store, traces } = services;
  const visibility = new RunVisibility(services, object => allowed(subject, action, object));
  await Promise.all(runner.liveRuns().map(run => visibility.canSee(run)));
  const current = (id: RunId) => visibility.visibleOrNull(runner.current(id));
  const sees = (id: RunId) => current(id) !== null;
  return {
    ...services,
    store: agentStore(store, subject, visibility),
    inbox: agentInbox(services.inbox, subject, sees),
    traces: {
      on: (id, listener) => (sees(id) ? traces.on(id, listener) : () => {}),
      savedOf: id => (sees(id) ? traces.savedOf(id) : 0),
    },
    conversations: NO_CONVERSATIONS,
    runner: {
      submit: squad => runner.submit(squad),
      admit: (count, parent) => runner.admit(count, parent),
      earlyBaseline: directory => runner.earlyBaseline(directory),
      sandboxProblem: network => runner.sandboxProblem(network),
      confinedCommand: (...given) => runner.confinedCommand(...given),
      current,
      usageOf: id => (sees(id) ? runner.usageOf(id) : null),
      isStopping: id => sees(id) && runner.isStopping(id),
      timeLeft: id => (sees(id) ? runner.timeLeft(id) : null),
      silenceOf: id => (sees(id) ? runner.silenceOf(id) : null),
      // The calling run is left out, because otherwise `cancel_run {all}` would stop the caller.
      liveRuns: () => runner.liveRuns().filter(run => run.id !== subject.id && visibility.sees(run)),
      remainingBudget: id => runner.remainingBudget(id),
      // The calling run waits, so its slot is free meanwhile.
      untilEnded: (id, signal) => runner.whileWaiting(subject.id, () => runner.untilEnded(id, signal), id),
      untilAnswered: (id, signal) =>
        runner.whileWaiting(subject.id, () => runner.untilAnswered(id, signal), id),
      whileWaiting: (id, wait) => runner.whileWaiting(id, wait),
      stop: async (id, reason, by) => sees(id) && runner.stop(id, reason, by),
      note: (id, text) => {
        if (sees(id)) runner.note(id, text);
      },
      tell: async (id, told, interrupts) => (sees(id) ? runner.tell(id, told, interrupts) : null),
      send: async (_, to, text) => {
        const run = to === null ? null : (runner.current(to) ?? (await store.run(to)));
        const isSeen = to === null || (run !== null && (await visibility.canSee(run)));
        return isSeen ? runner.send(subject.id, to, text) : { id: '', delivery: 'undelivered' };
      },
      isFed: id => sees(id) && runner.isFed(id),
      pump: () => runner.pump(),
    },
  };
}

/** Empty conversations for agents, because only the user may read conversations. */
const NO_CONVERSATIONS: Services['conversations'] = {
  messages: async () => [],
  message: async () => null,
  countMessages: async () => 0,
  conversations: async () => [],
  talkers: async () => [],
};

/** The calling run, for tools that only agents have. An agent cannot act for another run. */
export function ownRun({ services, caller }: Pick<Call, 'services' | 'caller'>): Run {
  const run = caller.parent && services.runner.current(caller.parent.id);
  if (run) return run;
  throw new SquadError('NOT_ALLOWED', 'Only a running agent can make this call, and only for its own run');
}
