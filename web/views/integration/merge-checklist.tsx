import '../runs/squad/merge.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Output } from '../../../src/operations/operations.ts';
import { shellWord } from '../../../src/schema/shell-word.ts';
import { useKeys } from '../../keys.ts';
import { type ApiError, asApiError, call } from '../../state/api.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { plural } from '../../ui/figures.ts';
import { Problem } from '../../ui/problem.tsx';
import { toast } from '../../ui/toast.tsx';
import { sentences } from '../sentences.ts';
import { CheckOutput } from './check-output.tsx';
import { MergeFields } from './merge-fields.tsx';
import { MergePlan } from './merge-plan.tsx';
import { DEFAULT_REQUEST, isSameRequest, mergeFlags, planInput } from './merge-request.ts';
import { mergeStep } from './merge-step.ts';

type Plan = Output<'plan_integration'>;

interface MergeChecklistProps {
  /** Runs or squads to merge. With an empty list all completed runs of the repository are merged. */
  ids: readonly string[];
  workspace: string;
  /** Closes the plan. Absent if the plan is a page of its own. */
  onClose?(): void;
  onMerged?(): void;
  /** Called with the runs that the user has selected. Absent if the user cannot leave runs out. */
  onChoose?(ids: string[]): void;
}

/** Shows the merge plan, then the check, then the merge button. Exactly the plan that was shown is merged. */
export function MergeChecklist({ ids, workspace, onClose, onMerged, onChoose }: MergeChecklistProps) {
  const [plan, setPlan] = useState<Plan | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [doing, setDoing] = useState<'trial' | 'check' | 'merge' | null>(null);
  const [asks, setAsks] = useState<'check' | 'merge' | null>(null);
  const [removes, setRemoves] = useState(false);
  const [request, setRequest] = useState(DEFAULT_REQUEST);
  /** Settings with which the current plan was made. */
  const [planned, setPlanned] = useState(DEFAULT_REQUEST);
  const heading = useRef<HTMLHeadingElement>(null);
  const underWay = useRef<AbortController | null>(null);

  const during = async (what: 'trial' | 'check' | 'merge', work: (signal: AbortSignal) => Promise<void>) => {
    underWay.current?.abort();
    const mine = new AbortController();
    underWay.current = mine;
    setDoing(what);
    setError(null);
    try {
      await work(mine.signal);
    } catch (thrown) {
      if (!mine.signal.aborted) setError(asApiError(thrown));
    } finally {
      if (underWay.current === mine) setDoing(null);
    }
  };
  const look = (runsCheck: boolean) =>
    during(runsCheck ? 'check' : 'trial', async signal => {
      const input = { ids: [...ids], runsCheck, ...planInput(request) };
      setPlan(await call('plan_integration', input, { workspace, signal }));
      setPlanned(request);
    });
  const merge = (planId: string) =>
    during('merge', async () => {
      const { merged, target, to, notes } = await call(
        'integrate',
        { approve: planId, remove: removes },
        { workspace },
      );
      toast(
        sentences([
          `Merged ${plural(merged.length, 'branch', 'branches')} into ${target}, now at ${to.slice(0, 10)}`,
          ...notes,
        ]),
      );
      onMerged?.();
      if (onClose) onClose();
      else void look(false);
    });

  useEffect(() => {
    if (onClose) heading.current?.focus();
    void look(false);
    return () => underWay.current?.abort();
  }, [ids.join(' ')]);

  const step = plan && mergeStep(plan, removes);
  const busy = doing && 'Wait until the current step has finished.';
  // Why merging is disabled. Only a plan that was shown can be merged.
  const unready =
    busy ??
    (isSameRequest(request, planned) ? null : 'Update the plan first: you have changed the settings.');
  const flags = `${mergeFlags(planned)}${removes ? ' --remove' : ''}`;
  const command = `squad integrate${ids.map(id => ` ${shellWord(id)}`).join('')}${flags} --workspace ${shellWord(workspace)}`;
  useKeys([
    { key: 'x', what: 'Run the check', run: () => setAsks('check'), when: () => !unready && !!step?.check },
    { key: 'm', what: 'Merge', run: () => setAsks('merge'), when: () => !unready && step?.why === null },
    { key: 'esc', what: 'Close the merge plan', run: () => onClose?.(), when: () => onClose !== undefined },
  ]);
  return (
    <section class="merge" aria-labelledby="merge-title">
      <header class="merge-head">
        <h2 id="merge-title" tabIndex={-1} ref={heading}>
          {onClose ? 'Merge' : 'Branches'}
        </h2>
        {onClose && (
          <Button tone="quiet" onClick={onClose}>
            Close
          </Button>
        )}
      </header>
      {error && <Problem error={error} onRetry={() => void look(false)} />}
      {doing && (
        <p role="status" class="soft">
          {doing === 'trial' && 'Running a trial merge. No branch is changed…'}
          {doing === 'check' && 'Running the check on the merged result…'}
          {doing === 'merge' && 'Merging…'}
        </p>
      )}
      {doing === 'check' && <CheckOutput />}
      <MergeFields
        request={request}
        onChange={setRequest}
        target={plan?.target ?? null}
        why={busy}
        onTry={() => void look(false)}
      />
      {plan && plan.branches.length === 0 && !onClose && (
        <Empty title="Nothing to merge">
          Branches of completed runs appear here: <code>squad run coder "…" --worktree</code>
        </Empty>
      )}
      {plan && <MergePlan plan={plan} chosen={ids} onChoose={onChoose} />}
      {plan && step && (onClose || plan.branches.length > 0) && (
        <div class="merge-actions">
          <label>
            <input
              type="checkbox"
              checked={removes}
              onChange={event => setRemoves(event.currentTarget.checked)}
            />{' '}
            Remove the work trees of merged branches
          </label>
          {step.check && (
            <Button keyName="x" onClick={() => setAsks('check')} why={unready}>
              Run the check
            </Button>
          )}
          <Button tone="main" keyName="m" onClick={() => setAsks('merge')} why={unready ?? step.why}>
            {step.label}
          </Button>
          {(unready ?? step.why) && !busy && <p class="merge-why">{unready ?? step.why}</p>}
        </div>
      )}
      {asks === 'check' && step?.check && (
        <Confirm
          title="Run the check"
          effect={step.check}
          command={command}
          yes="Run it"
          tone="main"
          onYes={() => void look(true)}
          onClose={() => setAsks(null)}
        />
      )}
      {asks === 'merge' && plan?.planId && step && (
        <Confirm
          title={step.label}
          effect={planned.check === 'none' ? `${step.effect} No check is run.` : step.effect}
          command={command}
          yes={step.label}
          tone="main"
          onYes={() => void merge(plan.planId as string)}
          onClose={() => setAsks(null)}
        />
      )}
    </section>
  );
}
