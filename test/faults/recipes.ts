export type Engine = 'template' | 'scripted';

export type Shape = 'quick' | 'fails' | 'slow' | 'long' | 'around' | 'flood' | 'session' | 'commits';

export interface Recipe {
  kind: string;
  engine: Engine;
  shape: Shape;
  deaf?: true;
  cancelled?: true;
  hasty?: true;
}

export const STATELESS: Recipe[] = [
  { kind: 'quick', engine: 'template', shape: 'quick' },
  { kind: 'exit 3', engine: 'template', shape: 'fails' },
  { kind: 'slow', engine: 'template', shape: 'slow' },
  { kind: 'slow', engine: 'template', shape: 'slow' },
  { kind: 'flood', engine: 'template', shape: 'flood' },
  { kind: 'own session', engine: 'template', shape: 'session' },
  { kind: 'cancelled', engine: 'template', shape: 'long', cancelled: true },
  { kind: 'cancelled, deaf', engine: 'template', shape: 'long', cancelled: true, deaf: true },
  { kind: 'timeout', engine: 'template', shape: 'around', hasty: true },
  { kind: 'timeout, own session', engine: 'template', shape: 'session', hasty: true },
  { kind: 'timeout, deaf', engine: 'template', shape: 'long', hasty: true, deaf: true },
  { kind: 'quick', engine: 'scripted', shape: 'quick' },
  { kind: 'exit 3', engine: 'scripted', shape: 'fails' },
  { kind: 'timeout', engine: 'scripted', shape: 'around', hasty: true },
];

export const STATEFUL: Recipe[] = [
  { kind: 'slow', engine: 'scripted', shape: 'slow' },
  { kind: 'flood', engine: 'scripted', shape: 'flood' },
  { kind: 'own session', engine: 'scripted', shape: 'session' },
  { kind: 'quick', engine: 'template', shape: 'quick' },
  { kind: 'slow', engine: 'template', shape: 'slow' },
  { kind: 'cancelled', engine: 'template', shape: 'long', cancelled: true },
];

/** Besides these, agents on a box have work trees that travel there and back. */
export const ON_BOX: Recipe[] = [
  { kind: 'commits', engine: 'template', shape: 'commits' },
  { kind: 'commits', engine: 'template', shape: 'commits' },
];
