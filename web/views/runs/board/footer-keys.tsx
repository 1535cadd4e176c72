import { computed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { card } from '../../../state/live.ts';
import { isWhole } from './is-whole.ts';

/** The keys that do something with what is in the list now. */
export function FooterKeys({ ids }: { ids: readonly string[] }) {
  const asked = useMemo(
    () => ({
      inWords: computed(() => ids.some(id => card(id).value?.asking != null)),
      toAllow: computed(() => ids.some(isAllowedHere)),
    }),
    [ids],
  );
  return (
    <p class="footer-keys soft" aria-hidden="true">
      <kbd>j</kbd>/<kbd>k</kbd> move · <kbd>enter</kbd> open ·{' '}
      {asked.toAllow.value && (
        <>
          <kbd>y</kbd>/<kbd>n</kbd> allow, deny ·{' '}
        </>
      )}
      {asked.inWords.value && (
        <>
          <kbd>a</kbd> answer ·{' '}
        </>
      )}
      <kbd>c</kbd> cancel · <kbd>r</kbd> retry · <kbd>?</kbd> keys
    </p>
  );
}

/** In its row, not only where all of it can be read. */
function isAllowedHere(id: string): boolean {
  const asking = card(id).value?.asking;
  return asking != null && asking.kind !== 'question' && isWhole(asking);
}
