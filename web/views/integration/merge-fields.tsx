import type { MergeRequest } from './merge-request.ts';

interface MergeFieldsProps {
  wish: MergeRequest;
  onWish(wish: MergeRequest): void;
  /** The target of the last trial, if there was one. */
  target: string | null;
  /** Why no trial can be made now. */
  why: string | null;
  onTry(): void;
}

/** Into what, and which check; a trial says what comes of it. */
export function MergeFields({ wish, onWish, target, why, onTry }: MergeFieldsProps) {
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
          value={wish.into}
          placeholder={target ?? 'the branch the runs started from'}
          autocomplete="off"
          spellcheck={false}
          onInput={event => onWish({ ...wish, into: event.currentTarget.value })}
        />
      </label>
      <label>
        Check before merging
        <select
          value={wish.check}
          onChange={event => onWish({ ...wish, check: event.currentTarget.value as MergeRequest['check'] })}
        >
          <option value="project">project default</option>
          <option value="command">custom command</option>
          <option value="none">none</option>
        </select>
      </label>
      {wish.check === 'command' && (
        <label>
          Check command
          <input
            type="text"
            class="code"
            value={wish.command}
            placeholder="npm test"
            required
            autocomplete="off"
            spellcheck={false}
            onInput={event => onWish({ ...wish, command: event.currentTarget.value })}
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
