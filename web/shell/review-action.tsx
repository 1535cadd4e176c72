import { signal } from '@preact/signals';
import type { Output } from '../../src/operations/operations.ts';
import { later } from './later.tsx';
import { OverlayWait } from './view-wait.tsx';

interface Asked {
  review: Output<'list_reviews'>['reviews'][number];
  isApproval: boolean;
}

const asked = signal<Asked | null>(null);
const close = () => {
  asked.value = null;
};

/** Opens the decision dialog over any view. */
export function askToDecide(review: Asked['review'], isApproval: boolean): void {
  asked.value = { review, isApproval };
}

const Decide = later(() => import('../views/review/decide.tsx').then(m => m.Decide), OverlayWait);

export function ReviewActionDialog() {
  return asked.value && <Decide {...asked.value} onDone={close} onClose={close} />;
}
