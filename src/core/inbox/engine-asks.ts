import { SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import type { EngineAnswer, EngineAsk, Engines } from '../ports/engine.ts';
import type { TwoWayTurn } from '../runs/two-way.ts';
import { formOf } from './elicitation.ts';
import { isAllowedForRun, permissionAsk, toFormAnswer, toPermissionAnswer } from './engine-permission.ts';
import type { Inbox } from './inbox.ts';

interface EngineAsksPorts {
  inbox: Inbox;
  engines: Pick<Engines, 'clis'>;
  /** Releases the run's slot while the run waits for an answer. */
  whileWaiting<T>(id: RunId, wait: () => Promise<T>): Promise<T>;
  warn(message: string, cause: unknown): void;
}

/** Passes questions of engines to the user, and passes the answers back to the engine. */
export class EngineAsks {
  private readonly ports: EngineAsksPorts;
  private readonly ready = Promise.withResolvers<void>();

  constructor(ports: EngineAsksPorts) {
    this.ports = ports;
  }

  /** Call this after the questions of the previous hub are loaded, so that no question is asked twice. */
  open(): void {
    this.ready.resolve();
  }

  take(run: Run, ask: EngineAsk, turn: TwoWayTurn): void {
    this.settle(run, ask, turn).catch(thrown =>
      this.ports.warn(`A request of ${run.id} was not answered`, thrown),
    );
  }

  private async settle(run: Run, ask: EngineAsk, turn: TwoWayTurn): Promise<void> {
    await this.ready.promise;
    const { inbox, whileWaiting } = this.ports;
    const gone = turn.untilGone(ask.id);
    if (gone.aborted) return this.withdraw(run, ask);
    const { useKey } = this.wording(run, ask);
    if (ask.form === undefined && isAllowedForRun(await inbox.closedOf(run.id), useKey)) {
      await turn.answer(ask, { isGiven: true });
      return;
    }
    const item = await this.ask(run, ask);
    if ('why' in item) {
      await turn.answer(ask, item);
      return;
    }
    const closed = await whileWaiting(run.id, () => inbox.untilClosed(item.id, gone));
    if (closed === null) return inbox.withdraw(item.id, 'call_ended');
    inbox.deliver(closed);
    const answer = ask.form === undefined ? toPermissionAnswer(closed) : toFormAnswer(closed);
    if (await turn.answer(ask, answer)) await inbox.markResumed(run.id);
  }

  /** The agent withdrew the question while there was no hub. */
  private async withdraw(run: Run, ask: EngineAsk): Promise<void> {
    const { inbox } = this.ports;
    const { useKey } = this.wording(run, ask);
    const item = inbox.openOf(run.id).find(each => each.useKey === useKey);
    if (item) await inbox.withdraw(item.id, 'call_ended');
  }

  private wording(run: Run, ask: EngineAsk) {
    const name = this.ports.engines.clis().find(({ cli }) => cli === run.engine)?.name ?? run.engine;
    const permission = permissionAsk(name, ask);
    if (ask.form === undefined) return { ...permission, mayBeAlways: true };
    const { question, fields } = formOf(ask.form) ?? NO_FORM;
    const { source, useKey } = permission;
    return { kind: 'question' as const, source, question, fields, to: 'user' as const, useKey };
  }

  private async ask(run: Run, ask: EngineAsk) {
    try {
      return await this.ports.inbox.ask({ run, ...this.wording(run, ask) });
    } catch (thrown) {
      // The user cannot be asked, so the request is refused with a message for the model.
      if (!(thrown instanceof SquadError)) throw thrown;
      return refusedUnasked(thrown);
    }
  }
}

/** A form that cannot be shown has an empty question, with which the inbox refuses it. */
const NO_FORM = { question: '', fields: [] };

export const refusedUnasked = ({ message }: SquadError): EngineAnswer & { isGiven: false } => ({
  isGiven: false,
  why: `Not allowed, and the user could not be asked. ${message}`,
});
