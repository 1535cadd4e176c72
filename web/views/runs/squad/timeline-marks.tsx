import type { Output } from '../../../../src/operations/operations.ts';

export type Mark = Output<'show_squad'>['marks'][number];

/** Shapes of the marks, one per kind, so that they can be distinguished without colour. */
const SHAPES: Record<Mark['kind'], string> = {
  question: 'M0-6 6 0 0 6-6 0Z',
  answer: 'M0-5 5 4-5 4Z',
  unanswered: 'M-5-4H5L0 5Z',
  review: 'M-5-5H5V5H-5Z',
  pull_request: 'M-5-2 0-6 5-2V5H-5Z',
  merge: 'M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z',
  message: 'M-6-4H6V4H-1L-4 6V4H-6Z',
  undelivered: 'M-6-4H6V4H-1L-4 6V4H-6ZM-4-2 4 2Z',
  stop: 'M-6-4-4-6 0-2 4-6 6-4 2 0 6 4 4 6 0 2-4 6-6 4-2 0Z',
};

const WORDS: Record<Mark['kind'], string> = {
  question: 'question',
  answer: 'answer',
  unanswered: 'not answered',
  review: 'review',
  pull_request: 'pull request',
  merge: 'merge',
  message: 'message',
  undelivered: 'message not delivered',
  stop: 'stop',
};

export const markName = (kind: Mark['kind']): string => WORDS[kind];

export function MarkShape({ kind, x, y }: { kind: Mark['kind']; x: number; y: number }) {
  return <path class={`mark mark-${kind}`} d={SHAPES[kind]} transform={`translate(${x} ${y})`} />;
}

/** Legend for the shapes in use. */
export function Legend({ marks }: { marks: readonly Mark[] }) {
  const kinds = [...new Set(marks.map(({ kind }) => kind))];
  if (kinds.length === 0) return null;
  return (
    <ul class="timeline-legend" aria-label="Marks on the timeline">
      {kinds.map(kind => (
        <li key={kind}>
          <svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">
            <MarkShape kind={kind} x={0} y={0} />
          </svg>
          {WORDS[kind]}
        </li>
      ))}
    </ul>
  );
}
