import { signal } from '@preact/signals';
import type { RunCard } from '../../src/schema/run-card.ts';
import { call } from '../state/api.ts';
import { useQuery } from '../state/query.ts';
import { Confirm, Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';

type Asked = { action: 'cancel' | 'retry'; run: Pick<RunCard, 'id' | 'title'> };

const asked = signal<Asked | null>(null);
const close = () => {
  asked.value = null;
};

/** Asks for confirmation, then cancels the run. */
export function askToCancel(run: Asked['run']): void {
  asked.value = { action: 'cancel', run };
}

export function askToRetry(run: Asked['run']): void {
  asked.value = { action: 'retry', run };
}

export function RunActionDialog() {
  return asked.value && <Asking key={asked.value.run.id} {...asked.value} />;
}

const WORDS = {
  cancel: { title: 'Cancel', yes: 'Cancel the run', tone: 'danger' },
  retry: { title: 'Retry', yes: 'Retry', tone: 'main' },
} as const;

function Asking({ action, run }: Asked) {
  const { data, error } = useQuery('run_actions', { run: run.id });
  const { title, yes, tone } = WORDS[action];
  const found = data?.actions.find(one => one.action === action);
  const name = `${title}: ${run.title}`;
  if (error || (found && !found.isPossible))
    return (
      <Dialog title={name} onClose={close}>
        {error ? <Problem error={error} /> : <p>{found?.why}</p>}
      </Dialog>
    );
  if (!found) return null;
  return (
    <Confirm
      title={name}
      effect={found.effect}
      command={found.command}
      yes={yes}
      tone={tone}
      onYes={() => carryOut({ action, run })}
      onClose={close}
    />
  );
}

async function carryOut({ action, run }: Asked): Promise<void> {
  if (action === 'cancel') {
    await call('cancel_run', { spawn_id: run.id });
    toast(`Stopping: ${run.title}`, { href: `/r/${run.id}` });
  } else {
    const { runIds } = await call('retry_runs', { id: run.id });
    toast(`Started again: ${run.title}`, { href: `/r/${runIds[0] ?? run.id}` });
  }
}
