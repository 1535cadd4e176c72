import { allFailed } from '../core/runs/run-state.ts';
import type { Run } from '../schema/run.ts';
import type { Call } from './operation.ts';

export function reportFailure(call: Pick<Call, 'onFailed'>, runs: readonly Run[]): void {
  if (allFailed(runs.map(({ status }) => status))) call.onFailed?.();
}
