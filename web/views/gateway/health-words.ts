import type { Output } from '../../../src/operations/operations.ts';
import type { IconName } from '../../ui/icon.tsx';

type Health = Output<'inspect_gateway'>['servers'][number]['health'];

interface HealthLook {
  word: string;
  icon: IconName;
  tone: 'ask' | 'bad' | 'busy' | 'calm' | 'good';
  /** What the word means. */
  means: string;
}

const LOOKS: Record<Health, HealthLook> = {
  idle: {
    word: 'idle',
    icon: 'clock',
    tone: 'calm',
    means: 'Nobody needs it: it is started with the first run that does.',
  },
  starting: { word: 'starting', icon: 'half', tone: 'busy', means: 'It has not greeted yet.' },
  up: { word: 'up', icon: 'check', tone: 'good', means: 'It answers.' },
  checking: {
    word: 'checking',
    icon: 'half',
    tone: 'ask',
    means: 'It was slow to answer and is asked whether it is there.',
  },
  retrying: {
    word: 'retrying',
    icon: 'half',
    tone: 'ask',
    means: 'It failed before any call did, and is started again soon.',
  },
  cooling: {
    word: 'cooling',
    icon: 'warn',
    tone: 'bad',
    means: 'It failed a call, or kept failing. Squad retries it after the cool-down.',
  },
  unusable: { word: 'unusable', icon: 'cross', tone: 'bad', means: 'It cannot work as it is configured.' },
};

export const healthLook = (health: Health): HealthLook => LOOKS[health];
