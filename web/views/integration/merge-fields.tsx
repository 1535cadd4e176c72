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
          placeholder={target ?? 'the one the runs began from'}
          autocomplete="off"
          spellcheck={false}
          onInput={event => onWish({ ...wish, into: event.currentTarget.value })}
        />
      </label>
      <label>
        Check before it is merged
        <select
          value={wish.check}
          onChange={event => onWish({ ...wish, check: event.currentTarget.value as MergeRequest['check'] })}
        >
          <option value="project">the project's own, if it has one</option>
          <option value="command">this command</option>
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
        title={why ?? 'Merges in a trial: no branch is changed, and the check is not run'}
      >
        Look again
      </button>
    </form>
  );
}
