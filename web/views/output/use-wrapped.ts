import { useState } from 'preact/hooks';
import { saved } from '../../state/saved.ts';

const KEPT = 'squad-output-wrap';

/** Whether long lines are wrapped, as it was left in this browser, and how to turn it. A saved page keeps nothing. */
export function useWrapped(): [isWrapped: boolean, turn: () => void] {
  const [isWrapped, setWrapped] = useState(() => Boolean(saved) || localStorage.getItem(KEPT) !== 'off');
  const turn = () => {
    setWrapped(!isWrapped);
    if (!saved) localStorage.setItem(KEPT, isWrapped ? 'off' : 'on');
  };
  return [isWrapped, turn];
}
