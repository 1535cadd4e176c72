import type { MergeRequest } from './merge-request.ts';

interface MergeFieldsProps {
  request: MergeRequest;
  onChange(request: MergeRequest): void;
  /** Target of the last trial merge. Null before the first one. */
  target: string | null;
  /** Why no trial merge can run now. Null if it can. */
  why: string | null;
  onTry(): void;
}

/** Target branch and check of the merge. */
export function MergeFields({ request, onChange, target, why, onTry }: MergeFieldsProps) {
  return (
    <form
      class="merge-fields"
      onSubmit={event => {
        event.preventDefault();
        if (why === null) onTry();
      }}
    >
      <label>
        Into branch
        <input
          type="text"
          value={request.into}
          placeholder={target ?? 'the branch the runs started from'}
          autocomplete="off"
          spellcheck={false}
          onInput={event => onChange({ ...request, into: event.currentTarget.value })}
        />
      </label>
      <label>
        Check before merging
        <select
          value={request.check}
          onChange={event =>
            onChange({ ...request, check: event.currentTarget.value as MergeRequest['check'] })
          }
        >
          <option value="project">project default</option>
          <option value="command">custom command</option>
          <option value="none">none</option>
        </select>
      </label>
      {request.check === 'command' && (
        <label>
          Check command
          <input
            type="text"
            class="code"
            value={request.command}
            placeholder="npm test"
            required
            autocomplete="off"
            spellcheck={false}
            onInput={event => onChange({ ...request, command: event.currentTarget.value })}
          />
        </label>
      )}
      <button
        type="submit"
        class="button"
        aria-disabled={why !== null || undefined}
        title={why ?? 'Runs a trial merge. No branch is changed, and the check does not run.'}
      >
        {' '}
        Update plan{' '}
      </button>
    </form>
  );
}
