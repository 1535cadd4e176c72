import { PERMISSION_TEXT, SANDBOX_TEXT } from '../../src/schema/permission-text.ts';
import { useQuery } from '../state/query.ts';
import type { StartChoices } from './start-command.ts';
import { Engines } from './start-member.tsx';

interface StartMoreProps {
  choices: StartChoices;
  /** Folder of the run. Null if none is chosen yet. */
  workspace: string | null;
  onChange(choices: StartChoices): void;
}

/** Overrides of role and project settings for one run. */
export function StartMore({ choices, workspace, onChange }: StartMoreProps) {
  const set = (some: StartChoices) => onChange({ ...choices, ...some });
  const machines = useQuery('list_machines', {}).data?.machines ?? [];
  const labels = machines.flatMap(({ machine }) =>
    Object.entries(machine.labels).map(([label, value]) => `${label}=${value}`),
  );
  return (
    <details class="start-more">
      <summary>Options: engine, model, permission, sandbox, budget, machine, work tree</summary>
      <div class="start-grid">
        <Engines
          label="Engine"
          workspace={workspace}
          value={choices.engine}
          onChange={engine => set({ engine })}
        />
        <label>
          Model
          <input
            type="text"
            placeholder="default"
            value={choices.model ?? ''}
            onInput={event => set({ model: event.currentTarget.value.trim() || undefined })}
          />
        </label>
        <label class="start-wide">
          Permission
          <select
            value={choices.permission ?? ''}
            onChange={event =>
              set({ permission: (event.currentTarget.value || undefined) as StartChoices['permission'] })
            }
          >
            <option value="">default</option>
            {Object.entries(PERMISSION_TEXT).map(([level, text]) => (
              <option key={level} value={level}>
                {`${level}: ${text}`}
              </option>
            ))}
          </select>
        </label>
        <label class="start-wide">
          Sandbox
          <select
            value={choices.sandbox ?? ''}
            onChange={event =>
              set({ sandbox: (event.currentTarget.value || undefined) as StartChoices['sandbox'] })
            }
          >
            <option value="">default</option>
            {Object.entries(SANDBOX_TEXT).map(([level, text]) => (
              <option key={level} value={level}>
                {`${level}: ${text}`}
              </option>
            ))}
          </select>
        </label>
        <label>
          Budget in US dollars
          <input
            type="number"
            min="0.01"
            step="any"
            placeholder="no limit for this run"
            value={choices.budgetUsd ?? ''}
            onInput={event => set({ budgetUsd: Number(event.currentTarget.value) || undefined })}
          />
        </label>
        {machines.length > 0 && (
          <label>
            Machine
            <select
              value={choices.machine ?? ''}
              onChange={event => set({ machine: event.currentTarget.value || undefined })}
            >
              <option value="">default</option>
              <option value="local">local: this machine</option>
              {machines.map(({ machine: { name, isDraining } }) => (
                <option key={name} value={name} disabled={isDraining}>
                  {name}
                </option>
              ))}
              {[...new Set(labels)].map(label => (
                <option key={label} value={label}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <label class="start-check">
        <input
          type="checkbox"
          checked={choices.isolation === 'worktree'}
          onChange={event => set({ isolation: event.currentTarget.checked ? 'worktree' : undefined })}
        />{' '}
        Run in its own git work tree and branch
      </label>
    </details>
  );
}
