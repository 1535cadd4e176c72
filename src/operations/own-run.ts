import { SquadError } from '../schema/error.ts';
import type { Run } from '../schema/run.ts';
import type { Call } from './operation.ts';

/** The run that asks, for tools that agents alone have. Nobody names a run: each speaks for itself. */
export function ownRun({ services, caller }: Pick<Call, 'services' | 'caller'>): Run {
  const run = caller.parent && services.runner.current(caller.parent.id);
  if (run) return run;
  throw new SquadError('NOT_ALLOWED', 'This is for an agent at work, about its own run');
}
