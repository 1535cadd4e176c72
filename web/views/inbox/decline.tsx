import { Button } from '../../ui/button.tsx';
import type { Answering } from './use-answering.ts';

/** Tells the agent at once that nobody will answer. */
export function Decline({ why, send }: Answering) {
  return (
    <Button why={why} onClick={() => void send(null)}>
      decline
    </Button>
  );
}
