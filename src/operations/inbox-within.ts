import type { RunSubject } from '../core/policy.ts';
import type { RunId } from '../schema/ids.ts';
import type { Services } from './operation.ts';

/** The inbox as one run has it: what it asked, what it was asked, and that runs it sees have something open. */
export function inboxWithin(
  inbox: Services['inbox'],
  { id: self }: RunSubject,
  sees: (runId: RunId) => boolean,
): Services['inbox'] {
  return {
    ask: ask => inbox.ask(ask),
    untilSettled: (id, signal) => inbox.untilSettled(id, signal),
    handOut: item => inbox.handOut(item),
    wentOn: runId => inbox.wentOn(runId),
    askedBy: (runId, given) => inbox.askedBy(runId, given),
    open: () => inbox.open().filter(({ owner }) => owner === self),
    openOf: runId => (sees(runId) ? inbox.openOf(runId) : []),
    openFor: runIds => inbox.openFor(runIds.filter(sees), self),
    tell: id => inbox.tell(id, self),
    isTold: id => inbox.isTold(id, self),
    onAsked: listener => inbox.onAsked(item => void (sees(item.runId) && listener(item))),
    find: given => inbox.owned(self, given),
    owned: (_, given) => inbox.owned(self, given),
    list: filter => inbox.list({ ...filter, owner: self }),
    answer: async (id, said, by) => inbox.answer((await inbox.owned(self, id)).id, said, by),
    decline: async (id, by) => inbox.decline((await inbox.owned(self, id)).id, by),
  };
}
